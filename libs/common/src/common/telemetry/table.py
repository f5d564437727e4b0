"""Every metric of ShoppingX, in one table. `docs/metrics.md` is made from it; dashboards and alerts are checked
against it.

No label holds an id of a user, a session or a turn, nor a text that a user or a model chose: the values of every
label are a short list known in advance.
"""

from dataclasses import dataclass
from enum import StrEnum

GATEWAY, MEMORY, AGENT, CURATOR = "gateway", "memory", "agent", "curator"
SERVICES = (GATEWAY, MEMORY, AGENT, CURATOR)


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    """`name` is the name under which it is queried; a histogram adds `_bucket`, `_count` and `_sum` to it."""

    name: str
    kind: Kind
    help: str
    services: tuple[str, ...]
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_rows: list[Metric] = []


def _counter(name: str, help: str, services: tuple[str, ...], labels: tuple[str, ...] = ()) -> Metric:  # noqa: A002
    return _row(Metric(f"shoppingx_{name}_total", Kind.COUNTER, help, services, labels))


def _gauge(name: str, help: str, services: tuple[str, ...], labels: tuple[str, ...] = ()) -> Metric:  # noqa: A002
    return _row(Metric(f"shoppingx_{name}", Kind.GAUGE, help, services, labels))


def _histogram(
    name: str,
    help: str,  # noqa: A002
    services: tuple[str, ...],
    labels: tuple[str, ...] = (),
    *,
    buckets: tuple[float, ...],
) -> Metric:
    return _row(Metric(f"shoppingx_{name}", Kind.HISTOGRAM, help, services, labels, buckets))


def _row(metric: Metric) -> Metric:
    assert all(metric.name != row.name for row in _rows), metric.name
    _rows.append(metric)
    return metric


def all_metrics() -> tuple[Metric, ...]:
    return tuple(_rows)


# Seconds. A request or a hop takes milliseconds, a model call or a turn takes seconds.
_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_LONG = (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)

BUILD_INFO = _gauge("build_info", "Always 1; which version of which service runs", SERVICES, ("service", "version"))
LOOP_LAG = _histogram(
    "event_loop_lag_seconds",
    "How late the event loop's heartbeat came: time in which the process served nobody",
    SERVICES,
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0),
)

HTTP_SECONDS = _histogram(
    "http_request_duration_seconds",
    "Time until the answer begins, by route template; probes and scrapes are left out",
    (GATEWAY, MEMORY),
    ("method", "route", "status"),
    buckets=_SHORT,
)
EVENT_STREAMS_OPEN = _gauge("event_streams_open", "Event streams (SSE) that clients hold open", (GATEWAY,))

EVENTS_PUBLISHED = _counter(
    "events_published",
    "Events given to Redis; cause sweep is the sweeper's, outcome is published or failed",
    SERVICES,
    ("type", "cause", "outcome"),
)
EVENTS_HANDLED = _counter(
    "events_handled",
    "Events whose handler has ended; outcome is done, or failed for a bug in the handler",
    (AGENT, CURATOR),
    ("type", "cause", "outcome"),
)
EVENTS_MALFORMED = _counter(
    "events_malformed", "Stream entries that are no event, acknowledged and dropped", (AGENT, CURATOR), ("stream",)
)
EVENTS_IN_PROGRESS = _gauge("events_in_progress", "Events being handled now", (AGENT, CURATOR), ("stream",))
EVENT_WORKERS = _gauge("event_workers", "Events that may be handled at once", (AGENT, CURATOR), ("stream",))
EVENT_SECONDS = _histogram(
    "event_handling_seconds", "Time a handler worked on an event", (AGENT, CURATOR), ("type",), buckets=_LONG
)
EVENT_DELAY_SECONDS = _histogram(
    "event_delay_seconds",
    "From an event's creation to its handler's start, by the clocks of two machines",
    (AGENT, CURATOR),
    ("type", "cause"),
    buckets=_LONG,
)

MODEL_CALLS = _counter(
    "model_calls",
    "Model calls that have ended; outcome is answered, unavailable, refused, misbehaved or cancelled",
    (AGENT, CURATOR),
    ("kind", "outcome"),
)
MODEL_RETRIES = _counter(
    "model_retries",
    "Attempts of a model call after its first, as they begin: what a provider's outage shows first",
    (AGENT, CURATOR),
    ("kind",),
)
MODEL_SECONDS = _histogram(
    "model_call_duration_seconds", "Model calls that were answered, retries included", (AGENT, CURATOR), ("kind",),
    buckets=_LONG,
)  # fmt: skip
MODEL_FIRST_TOKEN_SECONDS = _histogram(
    "model_first_token_seconds", "Time to the first token, of the attempt that was answered", (AGENT, CURATOR),
    ("kind",), buckets=_LONG,
)  # fmt: skip
MODEL_TOKENS = _counter(
    "model_tokens", "Tokens as the provider reported them; type is prompt or completion", (AGENT, CURATOR),
    ("kind", "type"),
)  # fmt: skip
MODEL_CACHE_TOKENS = _counter(
    "model_cache_tokens",
    "Prompt tokens by whether they came from the provider's cache (part is cached or uncached); "
    "only of calls whose provider reported it",
    (AGENT, CURATOR),
    ("kind", "part"),
)
TOOL_SECONDS = _histogram(
    "tool_duration_seconds",
    "Tool calls; outcome is done or error, and a tool that does not exist is called unknown",
    (AGENT,),
    ("tool", "outcome"),
    buckets=_SHORT,
)
LEASES_LOST = _counter(
    "leases_lost",
    "Turns whose lease this agent lost while it worked; reason is expired (memory did not answer) or refused "
    "(memory said so: cancelled, cleared, taken over, or ended just then)",
    (AGENT,),
    ("reason",),
)

TURN_SECONDS = _histogram(
    "turn_duration_seconds",
    "From a turn's acceptance to its stored end; outcome is completed or the code of the failure",
    (MEMORY,),
    ("outcome",),
    buckets=_LONG,
)
TURN_WAIT_SECONDS = _histogram(
    "turn_wait_seconds", "From a turn's acceptance to its first claim by an agent", (MEMORY,), buckets=_LONG
)
TURN_TO_FACT_SECONDS = _histogram(
    "turn_to_fact_seconds", "From a turn's stored end to the commit of its curation", (MEMORY,), buckets=_LONG
)
FACTS = _counter(
    "facts", "Proposed facts by who proposed them and what became of them", (MEMORY,), ("source", "action")
)
WORK_ATTEMPTS = _histogram(
    "work_attempts",
    "Attempts that a work record had when it ended; state is done, dead or discarded",
    (MEMORY,),
    ("kind", "state"),
    buckets=(0, 1, 2, 3, 4, 5, 10),
)
ATTEMPTS_FAILED = _counter(
    "work_attempts_failed",
    "Attempts that a worker handed back because something failed; the work is tried again or is dead",
    (MEMORY,),
    ("kind",),
)
CIRCUIT_OPEN = _gauge(
    "circuit_open",
    "Whether nothing of the kind is claimed because nearly everything failed: 1 open, 0.5 one is tried, 0 closed",
    (MEMORY,),
    ("kind",),
)
LEASES_EXPIRED = _counter(
    "leases_expired", "Leases that ran out and were released by the sweeper", (MEMORY,), ("kind",)
)
SWEEPS = _counter("sweeps", "Rounds of the sweeper; outcome is done or failed", (MEMORY,), ("outcome",))
LAST_SWEEP = _gauge("last_sweep_timestamp_seconds", "When this replica last swept (Unix time)", (MEMORY,))
RETENTION_USERS = _counter(
    "retention_users",
    "Users whose data was looked through for what has expired; outcome is done or failed",
    (MEMORY,),
    ("outcome",),
)
LAST_RETENTION = _gauge(
    "last_retention_timestamp_seconds",
    "When this replica last found nobody left whose data is due (Unix time)",
    (MEMORY,),
)

WORK_RECORDS = _gauge(
    "work_records",
    "Work records that are not done, by state (pending, leased or dead); every replica tells the same number",
    (MEMORY,),
    ("kind", "state"),
)
OLDEST_DUE_WORK = _gauge(
    "oldest_due_work_seconds",
    "For how long the oldest pending work record has been due; 0 when none is; the same on every replica",
    (MEMORY,),
    ("kind",),
)
GROUP_LAG = _gauge(
    "consumer_group_lag", "Stream entries that the group has not read yet; the same on every replica", (MEMORY,),
    ("stream", "group"),
)  # fmt: skip
GROUP_PENDING = _gauge(
    "consumer_group_pending", "Stream entries that were read and not acknowledged; the same on every replica",
    (MEMORY,), ("stream", "group"),
)  # fmt: skip
BACKLOG_OBSERVED = _gauge(
    "backlog_observed_timestamp_seconds",
    "When the gauges of work records (source postgresql) or of streams (source redis) were last read (Unix time)",
    (MEMORY,),
    ("source",),
)
REPLAY_TURNS = _gauge(
    "replay_turns",
    "Turns of the replay jobs that run, by state (waiting or running); the same on every replica",
    (MEMORY,),
    ("state",),
)
