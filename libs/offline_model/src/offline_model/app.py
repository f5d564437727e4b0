"""The composition root: builds everything the server is made of."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from common.clock import Clock, SystemClock
from common.logs import get_logger
from offline_model.body import parsed, read_body
from offline_model.chat.endpoint import ChatEndpoint
from offline_model.chat.usage import UsageMeter
from offline_model.embeddings import Embedder, EmbeddingRequest, embedding_body
from offline_model.errors import Refusal, refusal_response
from offline_model.prefix_cache.policies import CachePolicy, prefix_cache_of
from offline_model.settings import OfflineModelSettings
from offline_model.tokens import QwenTokens

MODELS = ("offline-main", "offline-fast", "offline-embedding")
"""Shown in /v1/models; any other name is answered just the same."""

_log = get_logger(__name__)


def build_app(settings: OfflineModelSettings, clock: Clock | None = None) -> FastAPI:
    """Loads the tokenizer and the embedding model, which takes about a second.

    /v1 simulates the cache that the settings name; /caches/<policy>/v1 is the same endpoint with a cache of that
    policy of its own, so that one process can be asked what each of them would have made of the same requests.
    """
    worker = ThreadPoolExecutor(1, thread_name_prefix="player")
    embedder = Embedder()
    tokens = QwenTokens()
    clock = clock or SystemClock()

    def chat_with(policy: CachePolicy) -> ChatEndpoint:
        meter = UsageMeter(tokens, prefix_cache_of(policy, clock), settings.context_window)
        return ChatEndpoint(meter, worker, clock, settings.chunk_delay_seconds)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        embedder.close()
        worker.shutdown(wait=True)

    app = FastAPI(title="ShoppingX offline model", lifespan=lifespan, openapi_url=None)
    _install_error_handlers(app)
    app.include_router(_api(chat_with(settings.cache_policy), embedder, clock), prefix="/v1")
    for policy in CachePolicy:
        chat = chat_with(policy)
        app.include_router(_api(chat, embedder, clock), prefix=f"/caches/{policy}/v1")
        app.add_api_route(f"/caches/{policy}", chat.empty_the_cache, methods=["DELETE"], status_code=204)
    _install_health(app)
    return app


def _api(chat: ChatEndpoint, embedder: Embedder, clock: Clock) -> APIRouter:
    """What an OpenAI-compatible base URL offers."""
    api = APIRouter()
    api.add_api_route("/chat/completions", chat.__call__, methods=["POST"], response_model=None)

    @api.post("/embeddings")
    async def embeddings(request: Request) -> Response:
        began_at = clock.monotonic()
        wanted = parsed(EmbeddingRequest, await read_body(request))
        vectors, tokens = await embedder.embed(wanted.texts, wanted.input_type)
        response = JSONResponse(embedding_body(wanted, vectors, tokens))
        taken = round((clock.monotonic() - began_at) * 1_000, 2)
        _log.info("embeddings.answered", texts=len(wanted.texts), tokens=tokens, duration_ms=taken)
        return response

    @api.get("/models")
    async def models() -> dict[str, object]:
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "shoppingx"} for name in MODELS]
        return {"object": "list", "data": listed}

    return api


def _install_health(app: FastAPI) -> None:
    # Everything is loaded before the port opens, so a server that answers at all is ready.
    @app.get("/healthz")
    @app.get("/readyz")
    async def health() -> dict[str, str]:
        return {"status": "ok"}


def _install_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(Refusal)
    async def on_refusal(_: Request, refusal: Refusal) -> Response:
        _log.info("request.refused", status=refusal.status, code=refusal.code)
        return refusal_response(refusal)

    @app.exception_handler(HTTPException)
    async def on_http(_: Request, error: HTTPException) -> Response:
        return refusal_response(Refusal(error.status_code, str(error.detail), "no_such_route"))

    @app.exception_handler(Exception)
    async def on_bug(request: Request, error: Exception) -> Response:
        _log.error("http.bug", path=request.url.path, error=error)
        return refusal_response(Refusal(500, "internal error", None, "server_error"))
