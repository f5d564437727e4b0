"""Traces: one turn is one trace, through HTTP and streams, over all services.

Spans cost next to nothing while nobody collects them: only OTEL_EXPORTER_OTLP_ENDPOINT (or
…_TRACES_ENDPOINT) turns recording on. The SDK reads its other standard variables (sampler, headers, time-outs)
itself. Attributes are ids and numbers. An exception is named by its type: its message may quote what a user wrote.
"""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_FLUSH_SECONDS = 3.0

Attribute = str | int | float | bool

_tracer = trace.get_tracer("shoppingx")
_propagator = TraceContextTextMapPropagator()
_NOT_RECORDED = nullcontext(trace.INVALID_SPAN)


def traces_wanted() -> bool:
    return any(os.environ.get(name) for name in _ENDPOINTS)


def configure_traces(service: str) -> None:
    """Record and export the spans of this process, if an endpoint is set. Once per process, at its start."""
    if not traces_wanted():
        return
    # Imported only here: a process that exports nothing need not load any of it.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({"service.name": service, "service.namespace": "shoppingx"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def flush_traces(seconds: float = _FLUSH_SECONDS) -> None:
    """Export what is left, for at most `seconds`: a collector that is down must not hold up a shutdown."""
    provider: Any = trace.get_tracer_provider()
    if not recording():
        return
    flushing = threading.Thread(target=provider.shutdown, name="flush-traces", daemon=True)
    flushing.start()
    flushing.join(seconds)


def span(
    name: str, kind: SpanKind = SpanKind.INTERNAL, *, parent: Context | None = None, **attributes: Attribute
) -> AbstractContextManager[Span]:
    """A span around the block. An exception that leaves it marks it as failed, with the exception's type."""
    return _recorded(name, kind, parent, attributes) if recording() else _NOT_RECORDED


def recording() -> bool:
    """Whether spans of this process go anywhere."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def _recorded(name: str, kind: SpanKind, parent: Context | None, attributes: Mapping[str, Attribute]) -> Iterator[Span]:
    with _tracer.start_as_current_span(
        name,
        parent,
        kind,
        _named(attributes),
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except Exception as error:
            failed(current, type(error).__qualname__)
            raise


def begin_span(name: str, kind: SpanKind, **attributes: Attribute) -> Span:
    """A span that is not the current one and that the caller ends: for generators, which may be left and entered in
    different contexts."""
    return _tracer.start_span(name, kind=kind, attributes=_named(attributes))


def describe(**attributes: Attribute) -> None:
    """Add attributes to the span we are in."""
    trace.get_current_span().set_attributes(_named(attributes))


def failed(current: Span, reason: str) -> None:
    """Mark the span as failed. `reason` is a type or a code, never a message."""
    current.set_attribute("error.type", reason)
    current.set_status(StatusCode.ERROR)


def current_trace_id() -> str | None:
    """32 hexadecimal digits, inside of a recorded span."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def trace_headers() -> dict[str, str]:
    """The trace we are in as headers of a message or request (W3C `traceparent`; ASCII); none while nobody records."""
    headers: dict[str, str] = {}
    _propagator.inject(headers)
    return headers


def extract(headers: Mapping[str, str]) -> Context:
    """The trace that a message or request belongs to; an empty one where its headers name none."""
    return _propagator.extract(headers, Context())


def _named(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """`turn_id` is told as `shoppingx.turn_id`: names of our own have a prefix of our own."""
    return {f"shoppingx.{key}": value for key, value in attributes.items()}
