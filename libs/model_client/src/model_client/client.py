"""The streaming call: time limits on everything, and retries of what is safe to repeat.

A call has no effect but its cost, so a retry is always safe; it sends the same bytes, which also keeps the
provider's cache. An endpoint that is down costs nothing and is waited for as long as the caller can wait; attempts
that it took up and did not finish may have been paid for and are few. `Restarted` says that an attempt is superseded.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream

from common.clock import Clock
from common.logs import get_logger
from model_client.answers import ModelAnswer, ModelEvent, Restarted, assistant_payload
from model_client.errors import (
    ModelMisbehaved,
    ModelRefused,
    ModelStreamBroken,
    ModelTimedOut,
    ModelUnavailable,
)
from model_client.folding import AnswerFolder
from model_client.profiles import ProviderProfile
from model_client.requests import ModelRequest

_log = get_logger(__name__)

_FIRST_PAUSE = 0.25
_LONGEST_PAUSE = 4.0
_UNFINISHED_MAX = 4
"""Attempts of one call that the endpoint may take up and not finish."""
_RETRIED_STATUS = frozenset({408, 409, 425, 429})


@dataclass(frozen=True)
class ModelTimeouts:
    """Seconds of one attempt: until connected, until the first chunk, between chunks, and in all."""

    connect: float = 5.0
    first_chunk: float = 60.0
    between_chunks: float = 30.0
    total: float = 180.0


class ModelClient:
    """`retry_for` is the time in seconds, from the call's start, in which a new attempt may begin where the caller
    names none."""

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
            http_client=httpx2.AsyncClient(
                trust_env=False, limits=httpx2.Limits(max_connections=200, max_keepalive_connections=50)
            ),
        )

    async def close(self) -> None:
        await self._openai.close()

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        """Yield deltas as they come and the ModelAnswer last.

        `give_up_at` (on the clock's monotonic scale) bounds when a new attempt may begin, and nothing else bounds
        it while the endpoint is down; it does not cut an attempt that runs. Raises
        ModelUnavailable, ModelRefused or ModelMisbehaved.
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
        folder = AnswerFolder(self._new_call_id, request.taken_call_ids)
        first_token_at: float | None = None
        async with aclosing(self._chunks(request)) as chunks:
            async for chunk in chunks:
                for delta in folder.add(chunk):
                    yield delta
                if first_token_at is None and folder.started:
                    first_token_at = self._clock.monotonic()
        folded = folder.finish()
        yield ModelAnswer(
            payload=assistant_payload(
                folded.text, folded.tool_calls, folded.reasoning if self._profile.echo_reasoning else ""
            ),
            text=folded.text,
            tool_calls=folded.tool_calls,
            finish_reason=folded.finish_reason,
            usage=folded.usage,
            time_to_first_token_ms=None if first_token_at is None else _milliseconds(first_token_at - started_at),
            duration_ms=_milliseconds(self._clock.monotonic() - started_at),
        )

    async def _chunks(self, request: ModelRequest) -> AsyncGenerator[object]:
        """The chunks of one HTTP exchange as JSON values, with every fault as a ModelError."""
        end_at = self._clock.monotonic() + self._timeouts.total
        answering = False
        try:
            async with asyncio.timeout(self._timeouts.first_chunk):
                stream = await self._open(request)
            answering = True
            async with stream:
                limit = self._timeouts.first_chunk
                while True:
                    async with asyncio.timeout(min(limit, end_at - self._clock.monotonic())):
                        chunk = await anext(stream, _END)
                    if chunk is _END:
                        return
                    yield chunk
                    limit = self._timeouts.between_chunks
        except (TimeoutError, openai.APITimeoutError) as error:
            if isinstance(error.__cause__, httpx2.ConnectTimeout | httpx2.PoolTimeout):
                raise ModelUnavailable("no connection in time") from error
            raise ModelTimedOut("silent for too long") from error
        except openai.APIConnectionError as error:
            raise (ModelStreamBroken if answering else ModelUnavailable)("connection failed") from error
        except openai.APIStatusError as error:
            raise _status_error(error) from error
        except (openai.APIError, ValueError) as error:
            raise ModelStreamBroken("error inside the stream") from error

    async def _open(self, request: ModelRequest) -> AsyncStream[object]:
        # The low-level call, because the body is the exact text that the session log holds.
        return await self._openai.post(
            "/chat/completions",
            cast_to=object,
            content=request.body(),
            options={"headers": {"Content-Type": "application/json", "Accept": "text/event-stream"}},
            stream=True,
            stream_cls=AsyncStream[object],
        )


_END = object()


def _status_error(error: openai.APIStatusError) -> ModelUnavailable | ModelRefused:
    if error.status_code in _RETRIED_STATUS or error.status_code >= 500:
        return ModelUnavailable(f"status {error.status_code}", _retry_after(error.response.headers))
    return ModelRefused(error.status_code)


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds the endpoint asks us to wait. Dates are ignored: our clock and theirs need not agree."""
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 3_600 else None


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1_000)
