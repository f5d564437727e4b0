"""Turning texts into vectors through an OpenAI-compatible endpoint."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import aiohttp
import httpx2
import numpy as np
from numpy.typing import NDArray
from openai import DefaultAioHttpClient
from pydantic import BaseModel, SecretStr, ValidationError

from agent.catalogue.errors import EmbeddingRefused, EmbeddingUnavailable

FloatArray = NDArray[np.float32]

_PASSING_STATUS = frozenset({408, 409, 425, 429})


class EmbeddingKind(StrEnum):
    """Models of the e5 family embed what is asked and what is found differently."""

    QUERY = "query"
    PASSAGE = "passage"


class Embedder(Protocol):
    @property
    def model(self) -> str:
        """Names the model; vectors of different models cannot be compared."""

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> FloatArray:
        """One row per text, in order: shape (texts, dimensions), float32, each row of length 1.

        Raises EmbeddingUnavailable (retryable) or EmbeddingRefused (permanent).
        """


class _Row(BaseModel):
    index: int
    embedding: list[float]


class _Answer(BaseModel):
    data: list[_Row]


class OpenAIEmbedder:
    """Speaks POST /embeddings of any OpenAI-compatible endpoint.

    Times are seconds for one request: a query is waited for by a user, a batch of passages by a build.
    `send_input_type` adds the field `input_type` to requests; switch it off for a provider that refuses it.
    """

    def __init__(
        self,
        base_url: str,
        api_key: SecretStr,
        model: str,
        *,
        query_timeout: float = 5.0,
        passage_timeout: float = 120.0,
        send_input_type: bool = True,
    ) -> None:
        self._model = model
        self._send_input_type = send_input_type
        self._timeouts = {EmbeddingKind.QUERY: query_timeout, EmbeddingKind.PASSAGE: passage_timeout}
        self._http = DefaultAioHttpClient(
            base_url=base_url,
            headers={"Authorization": f"Bearer {api_key.get_secret_value()}"},
            trust_env=False,
            follow_redirects=False,
        )

    @property
    def model(self) -> str:
        return self._model

    async def close(self) -> None:
        await self._http.aclose()

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> FloatArray:
        body: dict[str, object] = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        if self._send_input_type:
            body["input_type"] = kind.value
        try:
            response = await self._http.post("embeddings", json=body, timeout=self._timeouts[kind])
        except (httpx2.HTTPError, aiohttp.ClientError) as error:
            raise EmbeddingUnavailable(f"the embedding endpoint does not answer: {type(error).__name__}") from error
        return unit_rows(_rows(response), len(texts))


def _rows(response: httpx2.Response) -> list[list[float]]:
    if response.status_code in _PASSING_STATUS or response.status_code >= 500:
        raise EmbeddingUnavailable(f"the embedding endpoint answered {response.status_code}")
    if response.status_code != 200:
        raise EmbeddingRefused(f"the embedding endpoint answered {response.status_code}")
    try:
        answer = _Answer.model_validate_json(response.content)
    except ValidationError:
        # Without its cause: the message would quote what may hold the user's words.
        raise EmbeddingUnavailable("the embedding endpoint answered something else than embeddings") from None
    return [row.embedding for row in sorted(answer.data, key=lambda row: row.index)]


def unit_rows(rows: Sequence[Sequence[float]], expected: int) -> FloatArray:
    """Rows scaled to length 1. Raises EmbeddingUnavailable unless there are `expected` usable rows."""
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingUnavailable("the embedding endpoint answered rows of different lengths") from error
    if vectors.ndim != 2 or vectors.shape[0] != expected:
        raise EmbeddingUnavailable(f"the embedding endpoint answered {len(rows)} rows for {expected} texts")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(vectors)) or np.any(lengths == 0):
        raise EmbeddingUnavailable("the embedding endpoint answered vectors that are no directions")
    scaled: FloatArray = (vectors / lengths).astype(np.float32)
    return scaled
