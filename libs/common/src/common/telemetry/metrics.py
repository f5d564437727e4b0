"""The metrics of one process: made from the table's rows, kept in a registry of its own, told as text."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from common.telemetry.table import BUILD_INFO, Kind, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# They would be a second series for each one, which nothing here reads.
disable_created_metrics()  # type: ignore[no-untyped-call]

_Made = TypeVar("_Made", Counter, Gauge, Histogram)


class Metrics:
    """Hands out each metric of its service; asking for one again gives the same."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._registry = CollectorRegistry()
        self._made: dict[Metric, Counter | Gauge | Histogram] = {}
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self.gauge(BUILD_INFO).labels(service, _version_of(service)).set(1)

    def counter(self, row: Metric) -> Counter:
        assert row.kind is Kind.COUNTER
        return self._get(row, Counter, lambda: Counter(row.name, row.help, row.labels, registry=self._registry))

    def gauge(self, row: Metric) -> Gauge:
        assert row.kind is Kind.GAUGE
        return self._get(row, Gauge, lambda: Gauge(row.name, row.help, row.labels, registry=self._registry))

    def histogram(self, row: Metric) -> Histogram:
        assert row.kind is Kind.HISTOGRAM

        def make() -> Histogram:
            return Histogram(row.name, row.help, row.labels, registry=self._registry, buckets=row.buckets)

        return self._get(row, Histogram, make)

    def text(self) -> bytes:
        """Everything, in Prometheus' text format (CONTENT_TYPE)."""
        return generate_latest(self._registry)

    def _get(self, row: Metric, of: type[_Made], make: Callable[[], _Made]) -> _Made:
        assert self._service in row.services, f"the table does not say that {self._service} has {row.name}"
        found = self._made.get(row)
        if found is None:
            found = self._made[row] = make()
        assert isinstance(found, of)
        return found


def _version_of(service: str) -> str:
    try:
        return version(f"shoppingx-{service}")
    except PackageNotFoundError:
        return "unknown"
