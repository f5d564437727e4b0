"""What a transaction tells the metrics, kept until it has committed: what was rolled back has not happened."""

from collections.abc import Callable
from datetime import datetime

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.facts import FactOutcome, FactSource
from common.memory_api.turns import FailureCode
from common.telemetry.metrics import Metrics
from common.telemetry.table import (
    ATTEMPTS_FAILED,
    FACTS,
    TURN_SECONDS,
    TURN_TO_FACT_SECONDS,
    TURN_WAIT_SECONDS,
    WORK_ATTEMPTS,
)


class MemoryMetrics:
    """The metrics that use cases feed."""

    def __init__(self, metrics: Metrics) -> None:
        self.facts = metrics.counter(FACTS)
        self.turn_seconds = metrics.histogram(TURN_SECONDS)
        self.turn_wait_seconds = metrics.histogram(TURN_WAIT_SECONDS)
        self.turn_to_fact_seconds = metrics.histogram(TURN_TO_FACT_SECONDS)
        self.work_attempts = metrics.histogram(WORK_ATTEMPTS)
        self.attempts_failed = metrics.counter(ATTEMPTS_FAILED)


class Measurements:
    """Those of one transaction."""

    def __init__(self, metrics: MemoryMetrics) -> None:
        self._metrics = metrics
        self._kept: list[Callable[[], None]] = []

    def committed(self) -> None:
        for tell in self._kept:
            tell()

    def turn_claimed(self, accepted_at: datetime, now: datetime) -> None:
        self._kept.append(lambda: self._metrics.turn_wait_seconds.observe(_seconds(accepted_at, now)))

    def turn_ended(self, accepted_at: datetime, now: datetime, failure: FailureCode | None) -> None:
        outcome = "completed" if failure is None else failure.value
        self._kept.append(lambda: self._metrics.turn_seconds.labels(outcome).observe(_seconds(accepted_at, now)))

    def turn_curated(self, ended_at: datetime, now: datetime) -> None:
        self._kept.append(lambda: self._metrics.turn_to_fact_seconds.observe(_seconds(ended_at, now)))

    def fact_proposed(self, source: FactSource, outcome: FactOutcome) -> None:
        self._kept.append(lambda: self._metrics.facts.labels(source.value, outcome.action.value).inc())

    def work_ended(self, kind: WorkKind, state: WorkState, attempts: int) -> None:
        self._kept.append(lambda: self._metrics.work_attempts.labels(kind.value, state.value).observe(attempts))

    def attempt_failed(self, kind: WorkKind) -> None:
        self._kept.append(lambda: self._metrics.attempts_failed.labels(kind.value).inc())


def _seconds(start: datetime, end: datetime) -> float:
    """Two clocks of two replicas may disagree a little; no time is negative."""
    return max(0.0, (end - start).total_seconds())
