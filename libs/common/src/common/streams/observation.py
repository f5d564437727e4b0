"""What a consumer tells about the events it handles."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from opentelemetry.trace import Span, SpanKind

from common.clock import Clock
from common.events import SessionClosed, TurnCompleted, TurnRequested
from common.telemetry.metrics import Metrics
from common.telemetry.table import (
    EVENT_DELAY_SECONDS,
    EVENT_SECONDS,
    EVENT_WORKERS,
    EVENTS_HANDLED,
    EVENTS_IN_PROGRESS,
    EVENTS_MALFORMED,
)
from common.telemetry.traces import extract, span

AnyEvent = TurnRequested | TurnCompleted | SessionClosed


@dataclass
class Handled:
    """The handler sets `failed` when a bug ended it."""

    failed: bool = False


class HandlingMetrics:
    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._handled = metrics.counter(EVENTS_HANDLED)
        self._malformed = metrics.counter(EVENTS_MALFORMED)
        self._in_progress = metrics.gauge(EVENTS_IN_PROGRESS)
        self._workers = metrics.gauge(EVENT_WORKERS)
        self._seconds = metrics.histogram(EVENT_SECONDS)
        self._delay = metrics.histogram(EVENT_DELAY_SECONDS)

    def has_workers(self, stream: str, workers: int) -> None:
        self._workers.labels(stream).set(workers)

    def malformed(self, stream: str) -> None:
        self._malformed.labels(stream).inc()

    @contextmanager
    def of(self, event: AnyEvent, stream: str) -> Iterator[Handled]:
        """Around one handler. A cancelled one is not counted: its event stays pending and is woken again."""
        cause, handled = event.cause.value, Handled()
        delay = (self._clock.now() - event.occurred_at).total_seconds()
        self._delay.labels(event.type, cause).observe(max(0.0, delay))
        started_at = self._clock.monotonic()
        with self._in_progress.labels(stream).track_inprogress():
            yield handled
        self._seconds.labels(event.type).observe(self._clock.monotonic() - started_at)
        self._handled.labels(event.type, cause, "failed" if handled.failed else "done").inc()


def handling_span(event: AnyEvent, stream: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
    """Continues the trace of whoever published; what the sweeper published again begins with the sweeper."""
    return span(
        f"{stream} process",
        SpanKind.CONSUMER,
        parent=extract(headers),
        event_id=str(event.event_id),
        session_id=str(event.session_id),
        turn_id=str(event.turn_id),
        cause=event.cause.value,
        run=event.run,
    )
