"""A model client that tells what its calls cost: metrics by the kind of call, and a span for each."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from opentelemetry.trace import SpanKind

from common.clock import Clock
from common.telemetry.metrics import Metrics
from common.telemetry.table import (
    MODEL_CACHE_TOKENS,
    MODEL_CALLS,
    MODEL_FIRST_TOKEN_SECONDS,
    MODEL_RETRIES,
    MODEL_SECONDS,
    MODEL_TOKENS,
)
from common.telemetry.traces import begin_span, failed
from model_client.answers import ModelAnswer, ModelEvent, Restarted
from model_client.errors import ContextOverflow, ModelError, ModelMisbehaved, ModelRefused
from model_client.requests import ModelRequest
from model_client.usage import ModelUsage


class StreamingModel(Protocol):
    def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]: ...


class MeasuredModel:
    """`kind` is what the calls are for: main, curator, …"""

    def __init__(self, model: StreamingModel, kind: str, clock: Clock, metrics: Metrics) -> None:
        self._model = model
        self._kind = kind
        self._clock = clock
        self._calls = metrics.counter(MODEL_CALLS)
        self._retries = metrics.counter(MODEL_RETRIES)
        self._seconds = metrics.histogram(MODEL_SECONDS)
        self._first_token = metrics.histogram(MODEL_FIRST_TOKEN_SECONDS)
        self._tokens = metrics.counter(MODEL_TOKENS)
        self._cache = metrics.counter(MODEL_CACHE_TOKENS)

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        """As the model streams."""
        outcome, started_at, attempts = "cancelled", self._clock.monotonic(), 1
        calling = begin_span(f"model {self._kind}", SpanKind.CLIENT, model=request.model)
        try:
            async with aclosing(self._model.stream(request, give_up_at=give_up_at)) as events:
                async for event in events:
                    if isinstance(event, Restarted):
                        attempts += 1
                        self._retries.labels(self._kind).inc()
                    elif isinstance(event, ModelAnswer):
                        # Before it is handed out: whoever has the answer may ask for nothing more.
                        outcome = "answered"
                        self._count_answer(event, self._clock.monotonic() - started_at)
                        calling.set_attributes(_cost(event))
                    yield event
        except ModelError as error:
            outcome = _outcome_of(error)
            failed(calling, type(error).__name__)
            raise
        finally:
            calling.set_attribute("shoppingx.attempts", attempts)
            self._calls.labels(self._kind, outcome).inc()
            calling.end()

    def _count_answer(self, answer: ModelAnswer, seconds: float) -> None:
        self._seconds.labels(self._kind).observe(seconds)
        if answer.time_to_first_token_ms is not None:
            self._first_token.labels(self._kind).observe(answer.time_to_first_token_ms / 1_000)
        self._count_tokens(answer.usage)

    def _count_tokens(self, usage: ModelUsage) -> None:
        """What the provider did not report is not counted as 0."""
        if usage.prompt_tokens is not None:
            self._tokens.labels(self._kind, "prompt").inc(usage.prompt_tokens)
        if usage.completion_tokens is not None:
            self._tokens.labels(self._kind, "completion").inc(usage.completion_tokens)
        if usage.prompt_tokens is not None and usage.cached_tokens is not None:
            self._cache.labels(self._kind, "cached").inc(usage.cached_tokens)
            self._cache.labels(self._kind, "uncached").inc(usage.prompt_tokens - usage.cached_tokens)


def _outcome_of(error: ModelError) -> str:
    match error:
        case ModelRefused() | ContextOverflow():
            return "refused"
        case ModelMisbehaved():
            return "misbehaved"
        case _:
            return "unavailable"


def _cost(answer: ModelAnswer) -> dict[str, int]:
    usage = answer.usage
    numbers = {
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "completion_tokens": usage.completion_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "time_to_first_token_ms": answer.time_to_first_token_ms,
        "tool_calls": len(answer.tool_calls),
    }
    return {f"shoppingx.{name}": number for name, number in numbers.items() if number is not None}
