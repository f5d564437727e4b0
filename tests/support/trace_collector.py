"""A collector of traces in this process: OTLP over HTTP, kept in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tests.support.serving import LOOPBACK, WithoutSignals, serving

from gateway.server import listening_socket


@dataclass(frozen=True)
class Span:
    """`parent_id` is empty for the first span of a trace."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    failed: bool
    events: int


@dataclass
class TraceCollector:
    url: str = ""
    spans: list[Span] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """What a service is told so that it exports to us, soon."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}

    def trace(self, trace_id: str) -> list[Span]:
        return [span for span in self.spans if span.trace_id == trace_id]

    def about_turn(self, turn_id: str) -> list[Span]:
        return [span for span in self.spans if span.attributes.get("shoppingx.turn_id") == turn_id]

    def path(self, span: Span) -> list[Span]:
        """From the trace's first span to this one; shorter where a span in between has not arrived."""
        by_id = {each.span_id: each for each in self.trace(span.trace_id)}
        path = [span]
        while path[0].parent_id in by_id:
            path.insert(0, by_id[path[0].parent_id])
        return path

    def receive(self, body: bytes) -> None:
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        for exported in request.resource_spans:
            resource = {each.key: each.value.string_value for each in exported.resource.attributes}
            for scope in exported.scope_spans:
                self.spans += [_span(resource["service.name"], each) for each in scope.spans]


def _span(service: str, exported: Any) -> Span:
    return Span(
        service=service,
        name=exported.name,
        trace_id=exported.trace_id.hex(),
        span_id=exported.span_id.hex(),
        parent_id=exported.parent_span_id.hex(),
        attributes={each.key: getattr(each.value, each.value.WhichOneof("value")) for each in exported.attributes},
        failed=exported.status.code == 2,
        events=len(exported.events),
    )


@asynccontextmanager
async def collecting_traces() -> AsyncIterator[TraceCollector]:
    collector = TraceCollector()
    app = FastAPI()

    @app.post("/v1/traces")
    async def receive(request: Request) -> Response:
        collector.receive(await request.body())
        return Response(status_code=200)

    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none")
    async with serving(WithoutSignals(config), listening_socket(LOOPBACK, 0)) as url:
        collector.url = url
        yield collector
