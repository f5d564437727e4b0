"""The table of metrics as a page for people."""

from collections.abc import Iterator

from common.telemetry.table import SERVICES, Metric, all_metrics

_HEAD = """# Metrics

Every service answers `GET /metrics` in Prometheus' text format, on the port it listens on: for the operator's network,
not for the public (the load balancer does not pass it on, and the gateway refuses it to whoever comes through a proxy).
A service tells exactly the metrics listed here for it, and besides them those of its process (`process_*`) and of
Python (`python_*`). No label holds the id of a user, a session or a turn, nor a text that a user or a model chose.

This page is made from `common/telemetry/table.py` by `make metrics`; a test compares the two. Dashboards and alerts
are in `deploy/observability/`; a test knows that they name only metrics and labels of this table. The gauges of
memory's backlog are told alike by each of its replicas: take their `max`, not their `sum`.
"""


def page() -> str:
    return "\n".join([_HEAD, *_rows()]) + "\n"


def _rows() -> Iterator[str]:
    yield "| metric | kind | labels | told by | meaning |"
    yield "|---|---|---|---|---|"
    for row in all_metrics():
        labels = ", ".join(f"`{label}`" for label in row.labels) or "–"
        yield f"| `{row.name}` | {row.kind} | {labels} | {_tellers(row)} | {row.help} |"


def _tellers(row: Metric) -> str:
    return "all" if set(row.services) == set(SERVICES) else ", ".join(row.services)
