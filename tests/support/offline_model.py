"""The offline model served in this process, and the real client that talks to it over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from tests.support.waiting import wait_for

from common.clock import SystemClock
from common.ids import new_id
from model_client.client import ModelClient, ModelTimeouts
from model_client.profiles import PROFILES
from offline_model.app import build_app
from offline_model.settings import OfflineModelSettings


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving_offline_model(
    settings: OfflineModelSettings | None = None, *, patience: float = 1.0
) -> AsyncIterator[ModelClient]:
    """`patience` is how many seconds the client waits for a chunk. It starts no attempt but the first by itself: a
    turn waits until its own deadline."""
    app = build_app(settings or OfflineModelSettings())
    # A request that still waits at the end is cancelled at once. Forcing the server's exit instead would leave the
    # application's own task behind, to be collected in the middle of another test.
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=0)
    server = _Server(config)
    serving = asyncio.create_task(server.serve())
    await wait_for(lambda: server.started, "the offline model serves")
    port = server.servers[0].sockets[0].getsockname()[1]
    client = ModelClient(
        f"http://127.0.0.1:{port}/v1",
        "key",
        PROFILES["generic"],
        SystemClock(),
        lambda: f"call_{new_id().hex}",
        timeouts=ModelTimeouts(connect=1.0, first_chunk=patience, between_chunks=patience, total=5 * patience),
        retry_for=0.0,
    )
    try:
        yield client
    finally:
        await client.close()
        server.should_exit = True
        await serving
