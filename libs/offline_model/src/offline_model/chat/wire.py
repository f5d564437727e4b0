"""The shapes of an answer on the wire: one completion object, or a stream of chunks."""

import json
from collections.abc import Iterator
from typing import Any

from offline_model.chat.answer import Answer
from offline_model.chat.requests import RequestedCall
from offline_model.chat.usage import Usage
from offline_model.misbehaviour import Misbehaviour

_TEXT_PIECE = 4
_ARGUMENTS_PIECE = 12
_CREATED = 1_767_225_600
"""Every answer carries the same time (2026-01-01), so that the same request gets the same bytes."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
"""`json.dumps` would make one for each chunk."""


def completion(answer: Answer, usage: Usage, misbehaviour: Misbehaviour) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = [_whole_call(call, misbehaviour) for call in answer.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    body = _envelope(answer, "chat.completion", [] if misbehaviour.empty_choices else [choice])
    return body if misbehaviour.no_usage else {**body, "usage": usage.body()}


def chunks(answer: Answer, usage: Usage | None, misbehaviour: Misbehaviour) -> Iterator[dict[str, Any]]:
    """In the order providers send them: role, thoughts, text or call fragments, finish reason, then the usage."""
    deltas = list(_deltas(answer, misbehaviour))
    for position, delta in enumerate(deltas):
        if misbehaviour.empty_choices and position in (0, len(deltas) // 2):
            yield _chunk(answer, [])
        yield _chunk(answer, [_choice(delta, None)])
    yield _chunk(answer, [_choice({}, answer.finish_reason)])
    if usage is not None and not misbehaviour.no_usage:
        yield {**_chunk(answer, []), "usage": usage.body()}


def server_sent_event(data: dict[str, Any]) -> bytes:
    return b"data: " + _ENCODER.encode(data).encode() + b"\n\n"


STREAM_END = b"data: [DONE]\n\n"


def _deltas(answer: Answer, misbehaviour: Misbehaviour) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if answer.text else None}
    for piece in _pieces(answer.reasoning, _TEXT_PIECE):
        yield {"content": None, "reasoning_content": piece}
    for piece in _pieces(answer.text, _TEXT_PIECE):
        yield {"content": piece}
    for index, call in enumerate(answer.calls):
        for fragment in _fragments(index, call, misbehaviour):
            yield {"tool_calls": [fragment]}


def _fragments(index: int, call: RequestedCall, misbehaviour: Misbehaviour) -> Iterator[dict[str, Any]]:
    place = {} if misbehaviour.missing_ids else {"index": index}
    identity = {} if misbehaviour.missing_ids else {"id": call.id}
    function = {"name": call.function.name, "arguments": ""}
    yield {**place, **identity, "type": "function", "function": function}
    for piece in _pieces(call.function.arguments, _ARGUMENTS_PIECE):
        yield {**place, "function": {"arguments": piece}}


def _whole_call(call: RequestedCall, misbehaviour: Misbehaviour) -> dict[str, Any]:
    identity = {} if misbehaviour.missing_ids else {"id": call.id}
    return {**identity, "type": "function", "function": call.function.model_dump()}


def _pieces(text: str, length: int) -> Iterator[str]:
    for start in range(0, len(text), length):
        yield text[start : start + length]


def _choice(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _chunk(answer: Answer, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return _envelope(answer, "chat.completion.chunk", choices)


def _envelope(answer: Answer, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": answer.answer_id,
        "object": kind,
        "created": _CREATED,
        "model": answer.model,
        "choices": choices,
    }
