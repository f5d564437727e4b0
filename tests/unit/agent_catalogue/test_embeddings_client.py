"""The embeddings client against a real socket: what is sent, and what each kind of failure becomes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from agent.catalogue.embeddings import EmbeddingKind, OpenAIEmbedder, unit_rows
from agent.catalogue.errors import EmbeddingRefused, EmbeddingUnavailable

Answer = tuple[int, str, str]


def json_answer(body: object, status: int = 200) -> Answer:
    return status, "application/json", json.dumps(body)


def rows(*vectors: list[float]) -> Answer:
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return json_answer({"object": "list", "model": "m", "data": data, "usage": {"prompt_tokens": 1, "total_tokens": 1}})


@asynccontextmanager
async def endpoint(answer: Callable[[dict[str, Any]], Answer | None]) -> AsyncIterator[str]:
    """A server that answers each request body once; None means it never answers."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            reply = answer(json.loads(await reader.readexactly(length)))
            if reply is None:
                await reader.read()
                return
            status, content_type, body = reply
            payload = body.encode()
            writer.write(
                f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(payload)}\r\n"
                f"connection: close\r\n\r\n".encode()
                + payload
            )
            await writer.drain()
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


@asynccontextmanager
async def embedder(url: str, **changes: Any) -> AsyncIterator[OpenAIEmbedder]:
    client = OpenAIEmbedder(url, SecretStr("secret"), "m", **changes)
    try:
        yield client
    finally:
        await client.close()


async def test_rows_come_back_in_order_and_at_length_one() -> None:
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> Answer:
        asked.append(body)
        data = [{"object": "embedding", "index": 1, "embedding": [0.0, 2.0]}]
        data.append({"object": "embedding", "index": 0, "embedding": [3.0, 4.0]})
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return json_answer({"object": "list", "model": "m", "data": data, "usage": usage})

    async with endpoint(answer) as url, embedder(url) as client:
        vectors = await client.embed(["a", "b"], EmbeddingKind.PASSAGE)
    assert np.allclose(vectors, [[0.6, 0.8], [0.0, 1.0]])
    assert asked == [{"model": "m", "input": ["a", "b"], "encoding_format": "float", "input_type": "passage"}]


async def test_the_input_type_can_be_left_out() -> None:
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> Answer:
        asked.append(body)
        return rows([1.0])

    async with endpoint(answer) as url, embedder(url, send_input_type=False) as client:
        await client.embed(["a"], EmbeddingKind.QUERY)
    assert "input_type" not in asked[0]


@pytest.mark.parametrize(
    "reply",
    [
        json_answer({"error": {"message": "later"}}, 429),
        json_answer({"error": {"message": "broken"}}, 500),
        json_answer({"error": {"message": "starting"}}, 503),
        (200, "application/json", "{not json"),
        (200, "text/html", "<html>a proxy</html>"),
        json_answer({}),
        rows([1.0], [1.0]),
        rows([0.0, 0.0]),
        rows([]),
    ],
)
async def test_what_may_pass_is_unavailable_and_names_nothing_of_the_user(reply: Answer) -> None:
    async with endpoint(lambda _: reply) as url, embedder(url) as client:
        with pytest.raises(EmbeddingUnavailable) as failure:
            await client.embed(["my words"], EmbeddingKind.QUERY)
    assert "my words" not in str(failure.value)


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_what_will_not_pass_is_refused(status: int) -> None:
    async with endpoint(lambda _: json_answer({"error": {"message": "no"}}, status)) as url, embedder(url) as client:
        with pytest.raises(EmbeddingRefused, match=str(status)):
            await client.embed(["a"], EmbeddingKind.QUERY)


async def test_an_endpoint_that_hangs_is_given_up() -> None:
    async with endpoint(lambda _: None) as url, embedder(url, query_timeout=0.2) as client:
        with pytest.raises(EmbeddingUnavailable):
            await client.embed(["a"], EmbeddingKind.QUERY)


async def test_an_endpoint_that_is_not_there() -> None:
    async with endpoint(lambda _: None) as url:
        pass
    async with embedder(url) as client:
        with pytest.raises(EmbeddingUnavailable):
            await client.embed(["a"], EmbeddingKind.QUERY)


def test_rows_of_different_lengths_are_no_answer() -> None:
    with pytest.raises(EmbeddingUnavailable):
        unit_rows([[1.0], [1.0, 2.0]], 2)
