"""The streaming call: time limits on everything, and retries of what is safe to repeat.

A call has no effect but its cost, so a retry is always safe; it sends the same bytes, which also keeps the
provider's cache (only an answer that was cut off at our own limit is asked for with a larger one). An endpoint that is
down costs nothing and is waited for as long as the caller can wait; attempts that it took up and did not finish may
have been paid for and are few. `Restarted` says that an attempt is superseded.
"""

import asyncio
import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import chain

import aiohttp
import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream

from common.clock import Clock
from common.logs import get_logger
from model_client.answers import ModelAnswer, ModelEvent, Restarted, assistant_payload
from model_client.errors import (
    ModelMisbehaved,
    ModelStreamBroken,
    ModelTimedOut,
    ModelTruncated,
    ModelUnavailable,
)
from model_client.event_stream import EventDecoder
from model_client.exact_json import exact_json
from model_client.folding import AnswerFolder
from model_client.profiles import ProviderProfile
from model_client.refusals import error_in_stream, error_of_status, is_error_chunk
from model_client.requests import ModelRequest

_log = get_logger(__name__)

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 4.0
_UNFINISHED_MAX = 4
"""Attempts of one call that the endpoint may take up and not finish."""

_LAST_BYTES_SECONDS = 0.1
_CONNECTIONS = httpx2.Limits(max_connections=200, keepalive_expiry=4.0)
"""Closed after less than the five seconds after which many servers do: a request should not meet a closing one."""


@dataclass(frozen=True)
class ModelTimeouts:
    """Seconds of one attempt: until connected, until the first chunk, between chunks, and in all."""

    connect: float = 5.0
    first_chunk: float = 60.0
    between_chunks: float = 30.0
    total: float = 180.0


class ModelClient:
    """`retry_for` is the time in seconds, from the call's start, in which a new attempt may begin where the caller
    names none. `transport` stands in for the network: to record what goes over it, or to play that back."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        profile: ProviderProfile,
        clock: Clock,
        new_call_id: Callable[[], str],
        *,
        timeouts: ModelTimeouts | None = None,
        retry_for: float = 45.0,
        jitter: Callable[[], float] = random.random,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._profile = profile
        self._clock = clock
        self._new_call_id = new_call_id
        self._timeouts = timeouts or ModelTimeouts()
        self._retry_for = retry_for
        self._jitter = jitter
        self._openai = AsyncOpenAI(
            base_url=base_url,
            api_key=api_key,
            max_retries=0,
            timeout=httpx2.Timeout(self._timeouts.total, connect=self._timeouts.connect),
            default_headers=dict(profile.headers),
            http_client=openai.DefaultAioHttpClient(
                trust_env=False, follow_redirects=False, limits=_CONNECTIONS, transport=transport
            ),
        )

    async def close(self) -> None:
        await self._openai.close()

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        """Yield deltas as they come and the ModelAnswer last.

        `give_up_at` (on the clock's monotonic scale) bounds when a new attempt may begin, and nothing else bounds
        it while the endpoint is down; it does not cut an attempt that runs. Raises
        ModelUnavailable, ModelRefused, ContextOverflow or ModelMisbehaved.
        """
        last_start = self._clock.monotonic() + self._retry_for if give_up_at is None else give_up_at
        attempt, unfinished, misbehaved = 0, 0, False
        while True:
            attempt += 1
            try:
                async with aclosing(self._attempt(request)) as events:
                    async for event in events:
                        yield event
                return
            except ModelMisbehaved as error:
                if misbehaved:
                    raise
                misbehaved = accepted = True
                pause = 0.0
                if isinstance(error, ModelTruncated):
                    request = request.with_more_room()
                _log.warning("model.misbehaved", reason=error.reason)
            except ModelUnavailable as error:
                pause = self._pause(attempt, error.retry_after)
                accepted = error.accepted
                unfinished += accepted
                if unfinished >= _UNFINISHED_MAX or self._clock.monotonic() + pause >= last_start:
                    raise
                _log.warning("model.retry", attempt=attempt, reason=error.reason)
            yield Restarted(accepted)
            await self._clock.sleep(pause)

    def _pause(self, attempt: int, retry_after: float | None) -> float:
        growing = min(_FIRST_PAUSE * 2.0 ** (attempt - 1), _LONGEST_PAUSE)
        return max(growing * (0.5 + self._jitter() / 2), retry_after or 0.0)

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        started_at = self._clock.monotonic()
        folder = AnswerFolder(
            self._new_call_id,
            request.taken_call_ids,
            tools=request.tools,
            max_tokens=request.max_tokens,
            answer_in_reasoning=self._profile.answer_in_reasoning,
        )
        first_token_at: float | None = None
        async with aclosing(self._chunks(request)) as pieces:
            async for chunks in pieces:
                for delta in chain.from_iterable(map(folder.add, chunks)):
                    yield delta
                if first_token_at is None and folder.started:
                    first_token_at = self._clock.monotonic()
        folded = folder.finish()
        for delta in folded.held_back:
            yield delta
        yield ModelAnswer(
            payload=assistant_payload(folded.text, folded.tool_calls, folded.reasoning, self._profile.reasoning_field),
            text=folded.text,
            tool_calls=folded.tool_calls,
            finish_reason=folded.finish_reason,
            usage=folded.usage,
            time_to_first_token_ms=None if first_token_at is None else _milliseconds(first_token_at - started_at),
            duration_ms=_milliseconds(self._clock.monotonic() - started_at),
            truncated=folded.finish_reason == "length",
            malformed_calls=folded.malformed_calls,
        )

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[Iterator[object]]:
        """The chunks of one HTTP exchange as JSON values, together what came together, with every fault as a
        ModelError."""
        loop = asyncio.get_running_loop()
        end_at = loop.time() + self._timeouts.total
        response = await self._open(request)
        events = EventDecoder()
        silent_until = loop.time() + self._timeouts.first_chunk
        try:
            async with aclosing(response), aclosing(response.aiter_bytes()) as pieces:
                while True:
                    async with asyncio.timeout_at(min(silent_until, end_at)):
                        piece = await anext(pieces, None)
                    if piece is None:
                        return
                    if told := events.feed(piece):
                        yield map(_value, told)
                        silent_until = loop.time() + self._timeouts.between_chunks
                    if events.ended:
                        await _read_to_the_end(pieces)
                        return
        except (TimeoutError, httpx2.ReadTimeout) as error:
            raise ModelTimedOut("silent for too long") from error
        except (httpx2.RequestError, aiohttp.ClientError) as error:
            raise ModelStreamBroken("connection failed") from error
        except UnicodeDecodeError as error:
            raise ModelStreamBroken("a chunk that is no text") from error

    async def _open(self, request: ModelRequest) -> httpx2.Response:
        """The answer's head has come. The low-level call, because the body is the exact text that the log holds."""
        try:
            async with asyncio.timeout(self._timeouts.first_chunk):
                stream = await self._openai.post(
                    "/chat/completions",
                    cast_to=object,
                    content=request.body(self._profile),
                    options={"headers": {"Content-Type": "application/json", "Accept": "text/event-stream"}},
                    stream=True,
                    stream_cls=AsyncStream[object],
                )
        except (TimeoutError, openai.APITimeoutError) as error:
            # A connection that was refused or closed is a ConnectTimeout too, under aiohttp.
            if isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout):
                raise ModelUnavailable("no connection") from error
            raise ModelTimedOut("silent for too long") from error
        except openai.APIConnectionError as error:
            raise ModelUnavailable("connection failed") from error
        except aiohttp.ClientError as error:
            raise ModelStreamBroken("an answer that is no HTTP") from error
        except openai.APIStatusError as error:
            response = error.response
            raise error_of_status(error.status_code, response.headers, response.text, self._clock.now()) from error
        return stream.response


def _value(data: str) -> object:
    """An event's data as a JSON value. Raises the ModelError that it is or tells of."""
    try:
        value: object = json.loads(data)
    except ValueError as error:
        raise ModelStreamBroken("a chunk that is no JSON") from error
    if is_error_chunk(value):
        raise error_in_stream(exact_json(value))
    return value


async def _read_to_the_end(pieces: AsyncIterator[bytes]) -> None:
    """A connection can be used again when everything was read; for that it is worth waiting for a moment."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_BYTES_SECONDS):
            async for _ in pieces:
                pass


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)
