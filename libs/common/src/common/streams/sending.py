"""Giving an event to Redis: what the gateway, the agent and the sweeper have in common.

The trace we are in goes along in the message's headers, never in the envelope: it says nothing about the turn.
"""

from faststream.redis import RedisBroker
from opentelemetry.trace import SpanKind

from common.events import SessionClosed, TurnCompleted, TurnRequested
from common.streams.names import EVENT_STREAM_MAXLEN, stream_of
from common.telemetry.metrics import Metrics
from common.telemetry.table import EVENTS_PUBLISHED
from common.telemetry.traces import span, trace_headers


class EventSender:
    def __init__(self, broker: RedisBroker, metrics: Metrics) -> None:
        self._broker = broker
        self._published = metrics.counter(EVENTS_PUBLISHED)

    async def send(self, event: TurnRequested | TurnCompleted | SessionClosed) -> None:
        """Append to the event's stream. Raises RedisError or OSError, or TimeoutError of a limit around it."""
        stream, outcome = stream_of(event), "failed"
        with span(
            f"{stream} publish",
            SpanKind.PRODUCER,
            event_id=str(event.event_id),
            session_id=str(event.session_id),
            turn_id=str(event.turn_id),
            cause=event.cause.value,
            run=event.run,
        ):
            try:
                await self._broker.publish(
                    event.model_dump(mode="json"), stream=stream, maxlen=EVENT_STREAM_MAXLEN, headers=trace_headers()
                )
                outcome = "published"
            finally:
                self._published.labels(event.type, event.cause.value, outcome).inc()
