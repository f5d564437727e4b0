"""What a service tells about the requests it serves: how long they took, and a span for each.

Needs the extra `web`. It is our own, and FastAPI's is turned off, because that one (as OpenTelemetry's for ASGI)
records paths and query strings, and ours hold user names and the keys of facts.
"""

import time

from fastapi.telemetry import TelemetryConfig
from opentelemetry.trace import SpanKind
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from common.telemetry.metrics import Metrics
from common.telemetry.table import HTTP_SECONDS
from common.telemetry.traces import describe, extract, failed, recording, span

NO_FASTAPI_TELEMETRY: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
"""For `FastAPI(telemetry=…)`, whose own telemetry is on by default."""

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_CRASHED = 500


class HttpTelemetry:
    """The outermost middleware. `trusted` callers continue their trace here; anybody else's begins a new one."""

    def __init__(self, app: ASGIApp, metrics: Metrics, *, trusted: bool) -> None:
        self._app = app
        self._seconds = metrics.histogram(HTTP_SECONDS)
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in _METHODS else "other"
        parent = extract(_trace_headers(scope) if self._trusted else {}) if recording() else None
        started_at, status, answered_at = time.monotonic(), _CRASHED, 0.0

        async def observed(message: Message) -> None:
            nonlocal status, answered_at
            if message["type"] == "http.response.start":
                status, answered_at = message["status"], time.monotonic()
            await send(message)

        with span(method, SpanKind.SERVER, parent=parent) as current:
            try:
                await self._app(scope, receive, observed)
            finally:
                route = _route_of(scope)
                self._seconds.labels(method, route, str(status)).observe((answered_at or time.monotonic()) - started_at)
                current.update_name(f"{method} {route}")
                describe(http_status=status)
                if status >= _CRASHED:
                    failed(current, str(status))


def _route_of(scope: Scope) -> str:
    """The route's template: what was asked for may hold anything."""
    return str(getattr(scope.get("route"), "path", "unmatched"))


def _trace_headers(scope: Scope) -> dict[str, str]:
    return {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in scope["headers"]
        if name in (b"traceparent", b"tracestate")
    }
