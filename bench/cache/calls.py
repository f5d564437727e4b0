"""A model call as it was sent: the exact texts of its request, and which turn of which session it belongs to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from common.memory_api.turns import ModelCallKind
from model_client.exact_json import exact_json

_COMPACTION = "<compaction_request>"
_PLANNER_SCHEMA = "turn_plan"


@dataclass(frozen=True)
class Call:
    """`messages` and `tools` are JSON texts; equal texts are one object, so that a long conversation, which is sent
    again with every call, is kept once. `options` are the body's other fields."""

    session: int
    turn: int
    kind: ModelCallKind
    model: str
    messages: tuple[str, ...]
    tools: str | None
    options: Mapping[str, Any]
    answer: str | None = None
    """The message that answered it, where a later request shows it."""

    @property
    def on_main_prefix(self) -> bool:
        return self.kind in (ModelCallKind.MAIN, ModelCallKind.COMPACTION)

    def with_messages(self, messages: tuple[str, ...]) -> "Call":
        return replace(self, messages=messages)

    def body(self, **more: Any) -> bytes:
        """The request's body; `more` replaces or adds fields."""
        fields = {"model": self.model, **self.options, **more}
        texts = [f"{exact_json(name)}:{exact_json(value)}" for name, value in fields.items()]
        texts.append(f'"messages":[{",".join(self.messages)}]')
        if self.tools is not None:
            texts.append(f'"tools":{self.tools}')
        return f"{{{','.join(texts)}}}".encode()


class CallReader:
    """Reads request bodies. Texts that came before are not kept again."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def read(self, body: bytes, session: int, turn: int) -> Call:
        fields = json.loads(body)
        messages, tools = fields.pop("messages"), fields.pop("tools", None)
        kind = _kind_of(fields, messages, tools)
        for streaming in ("stream", "stream_options"):
            fields.pop(streaming, None)
        return Call(
            session=session,
            turn=turn,
            kind=kind,
            model=fields.pop("model"),
            messages=tuple(self._kept(exact_json(message)) for message in messages),
            tools=None if tools is None else self._kept(exact_json(tools)),
            options=fields,
        )

    def _kept(self, text: str) -> str:
        return self._texts.setdefault(text, text)


def with_answers(calls: list[Call]) -> list[Call]:
    """The calls with the answers that the session's next main request shows to have been given."""
    answered: list[Call] = []
    following: dict[int, Call] = {}
    for call in reversed(calls):
        later = following.get(call.session)
        if call.kind is ModelCallKind.MAIN:
            if later is not None and later.messages[: len(call.messages)] == call.messages:
                call = replace(call, answer=_answer_in(later.messages[len(call.messages) :]))
            following[call.session] = call
        answered.append(call)
    return answered[::-1]


def _answer_in(messages: tuple[str, ...]) -> str | None:
    return messages[0] if messages and json.loads(messages[0]).get("role") == "assistant" else None


def _kind_of(fields: Mapping[str, Any], messages: list[dict[str, Any]], tools: Any) -> ModelCallKind:
    if tools:
        asks_for_summary = text_of(messages[-1]).startswith(_COMPACTION)
        return ModelCallKind.COMPACTION if asks_for_summary else ModelCallKind.MAIN
    schema = fields.get("response_format", {}).get("json_schema", {}).get("name")
    return ModelCallKind.PLANNER if schema == _PLANNER_SCHEMA else ModelCallKind.CURATOR


def text_of(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
