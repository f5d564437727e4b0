"""The AsyncAPI 3.0 description of everything that travels through Redis, made from the types themselves."""

from typing import Any

from pydantic.json_schema import models_json_schema

from common.events import SessionClosed, TurnCompleted, TurnRequested
from common.streams.names import (
    AGENT_GROUP,
    CURATOR_GROUP,
    EVENT_STREAM_MAXLEN,
    PROGRESS_BUCKETS,
    SESSION_CLOSED,
    SESSION_GROUP,
    TURN_COMPLETED,
    TURN_REQUESTED,
    StreamGroup,
)
from common.streams.progress import PROGRESS_MAXLEN, PROGRESS_TTL_SECONDS, ProgressEvent
from common.streams.progress_data import PROGRESS_DATA

_DESCRIPTION = f"""Events are pointers: ids and counters, never a user's words. Each is one entry of a Redis stream
(field `__data__`, FastStream's envelope) capped at about {EVENT_STREAM_MAXLEN} entries; the memory service's sweeper
publishes again what was lost. Consumers ignore fields they do not know.

A turn's progress is a stream of its own, `turn:{{bucket}}:<turn id>` (bucket = turn id mod {PROGRESS_BUCKETS}, in
literal braces), of entries with the fields `event` and `data` (JSON text), capped at about {PROGRESS_MAXLEN} entries
and gone after {PROGRESS_TTL_SECONDS} seconds. The gateway hands them out as server-sent events; `turn.snapshot` it
makes itself."""

_EVENTS = (
    (TURN_REQUESTED, TurnRequested, AGENT_GROUP, ("gateway", "memory"), "agent"),
    (TURN_COMPLETED, TurnCompleted, CURATOR_GROUP, ("agent", "memory"), "curator"),
    (SESSION_CLOSED, SessionClosed, SESSION_GROUP, ("memory",), "curator"),
)

_PROGRESS_CHANNEL = "turn.progress"

_WRITERS_OF_PROGRESS = {
    ProgressEvent.MEMORY_UPDATED: "curator",
    ProgressEvent.TURN_CANCELLED: "gateway",
    ProgressEvent.TURN_SNAPSHOT: "gateway",
}


def asyncapi() -> dict[str, Any]:
    """The document, as JSON values."""
    models = [model for _, model, *_ in _EVENTS] + sorted(set(PROGRESS_DATA.values()), key=lambda model: model.__name__)
    _, definitions = models_json_schema(
        [(model, "serialization") for model in models], ref_template="#/components/schemas/{model}"
    )
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "ShoppingX events", "version": "1", "description": _DESCRIPTION},
        "defaultContentType": "application/json",
        "channels": {**_event_channels(), _PROGRESS_CHANNEL: _progress_channel()},
        "operations": {**_event_operations(), **_progress_operations()},
        "components": {
            "messages": {**_event_messages(), **_progress_messages()},
            "schemas": _open(dict(sorted(definitions["$defs"].items()))),
        },
    }


def _open(schema: Any) -> Any:
    """Writers are held to exactly these fields; readers must let newer ones pass, so the description is open."""
    if isinstance(schema, list):
        return [_open(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _open(value) for key, value in schema.items() if (key, value) != ("additionalProperties", False)}


def _event_channels() -> dict[str, Any]:
    return {
        _name_of(model): {
            "address": stream,
            "messages": {_name_of(model): {"$ref": f"#/components/messages/{_name_of(model)}"}},
        }
        for stream, model, *_ in _EVENTS
    }


def _progress_channel() -> dict[str, Any]:
    names = [event.value for event in PROGRESS_DATA]
    return {
        "address": "turn:{bucket}:{turn_id}",
        "parameters": {
            "bucket": {"description": f"In literal braces: turn_id mod {PROGRESS_BUCKETS}"},
            "turn_id": {"description": "UUID of the turn"},
        },
        "messages": {name: {"$ref": f"#/components/messages/progress.{name}"} for name in names},
    }


def _event_operations() -> dict[str, Any]:
    operations: dict[str, Any] = {}
    for _, model, group, senders, receiver in _EVENTS:
        for sender in senders:
            operations[f"{sender}.sends.{_name_of(model)}"] = _operation("send", _name_of(model))
        receives = _operation("receive", _name_of(model)) | {"description": _consumer(group)}
        operations[f"{receiver}.receives.{_name_of(model)}"] = receives
    return operations


def _progress_operations() -> dict[str, Any]:
    writers: dict[str, list[str]] = {"agent": [], "curator": [], "gateway": []}
    for event in PROGRESS_DATA:
        writers[_WRITERS_OF_PROGRESS.get(event, "agent")].append(event.value)
    sends = {
        f"{writer}.sends.{_PROGRESS_CHANNEL}": _operation("send", _PROGRESS_CHANNEL)
        | {"messages": [{"$ref": f"#/channels/{_PROGRESS_CHANNEL}/messages/{name}"} for name in names]}
        for writer, names in writers.items()
    }
    return {**sends, f"gateway.receives.{_PROGRESS_CHANNEL}": _operation("receive", _PROGRESS_CHANNEL)}


def _event_messages() -> dict[str, Any]:
    return {_name_of(model): _message(_name_of(model), model) for _, model, *_ in _EVENTS}


def _progress_messages() -> dict[str, Any]:
    return {f"progress.{event.value}": _message(event.value, model) for event, model in PROGRESS_DATA.items()}


def _message(name: str, model: Any) -> dict[str, Any]:
    described = {"summary": str(model.__doc__).strip()} if model.__dict__.get("__doc__") else {}
    return {"name": name, **described, "payload": {"$ref": f"#/components/schemas/{model.__name__}"}}


def _operation(action: str, channel: str) -> dict[str, Any]:
    return {"action": action, "channel": {"$ref": f"#/channels/{channel}"}}


def _consumer(group: StreamGroup) -> str:
    return f"consumer group `{group.group}`, created at 0; an entry is always acked"


def _name_of(model: Any) -> str:
    return str(model.model_fields["type"].default)
