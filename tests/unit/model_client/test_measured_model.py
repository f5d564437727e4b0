"""What is counted of a model call, however it ends."""

from collections.abc import AsyncGenerator

import pytest
from tests.support.scraping import Scraped, parse

from common.clock import SystemClock
from common.telemetry import table
from common.telemetry.metrics import Metrics
from model_client.answers import ModelAnswer, ModelEvent, Restarted, TextDelta
from model_client.errors import ModelError, ModelRefused, ModelStreamBroken, ModelTruncated
from model_client.measured import MeasuredModel
from model_client.requests import ModelRequest
from model_client.usage import ModelUsage

REQUEST = ModelRequest("some-model", ())


class Scripted:
    def __init__(self, *steps: ModelEvent | ModelError) -> None:
        self._steps = steps

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        for step in self._steps:
            if isinstance(step, ModelError):
                raise step
            yield step


def answer(usage: ModelUsage) -> ModelAnswer:
    return ModelAnswer("{}", "hello", (), "stop", usage, 120, 400)


async def told_of(*steps: ModelEvent | ModelError, leave_after: int = 99) -> Scraped:
    metrics = Metrics(table.AGENT)
    stream = MeasuredModel(Scripted(*steps), "main", SystemClock(), metrics).stream(REQUEST)
    try:
        for _ in range(leave_after):
            await anext(stream)
    except (StopAsyncIteration, ModelError):
        pass
    await stream.aclose()
    return parse(metrics.text().decode())


async def test_an_answer_is_counted_with_what_it_cost() -> None:
    told = await told_of(Restarted(False), Restarted(True), TextDelta("hello"), answer(ModelUsage(1_000, 800, 50)))
    assert told.value(table.MODEL_CALLS, kind="main", outcome="answered") == 1
    assert told.value(table.MODEL_RETRIES, kind="main") == 2
    assert told.value(table.MODEL_SECONDS, kind="main") == 1
    assert told.value(table.MODEL_FIRST_TOKEN_SECONDS, kind="main") == 1
    assert told.value(table.MODEL_TOKENS, type="prompt") == 1_000
    assert told.value(table.MODEL_TOKENS, type="completion") == 50
    assert told.value(table.MODEL_CACHE_TOKENS, part="cached") == 800
    assert told.value(table.MODEL_CACHE_TOKENS, part="uncached") == 200


async def test_what_the_provider_does_not_report_is_not_counted_as_none() -> None:
    told = await told_of(answer(ModelUsage(1_000, None, None)))
    assert told.value(table.MODEL_TOKENS, type="prompt") == 1_000
    assert told.value(table.MODEL_CACHE_TOKENS) == 0
    assert not any(name.startswith(table.MODEL_CACHE_TOKENS.name) for name, _, _ in told.samples)


async def test_an_answer_counts_though_nobody_asks_for_more() -> None:
    told = await told_of(answer(ModelUsage()), leave_after=1)
    assert told.value(table.MODEL_CALLS, outcome="answered") == 1
    assert told.value(table.MODEL_CALLS) == 1


async def test_attempts_are_counted_while_the_call_goes_on() -> None:
    told = await told_of(Restarted(False), Restarted(False), TextDelta("hel"), leave_after=2)
    assert told.value(table.MODEL_RETRIES, kind="main") == 2


async def test_a_call_that_is_left_before_its_answer_was_cancelled() -> None:
    told = await told_of(TextDelta("hel"), answer(ModelUsage()), leave_after=1)
    assert told.value(table.MODEL_CALLS, outcome="cancelled") == 1
    assert told.value(table.MODEL_SECONDS) == 0


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ModelStreamBroken("cut"), "unavailable"),
        (ModelRefused(401), "refused"),
        (ModelTruncated("length"), "misbehaved"),
    ],
)
async def test_a_call_without_an_answer_is_counted_by_its_reason(error: ModelError, outcome: str) -> None:
    told = await told_of(TextDelta("hel"), error)
    assert told.value(table.MODEL_CALLS, kind="main", outcome=outcome) == 1
    assert told.value(table.MODEL_CALLS) == 1
