"""Folds the chunks of a stream into an answer, whatever shape they come in.

Chunks are plain JSON values. The table of faults this survives is facts/context.md 4.2; each row has a test.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from model_client.answers import ArgumentsDelta, TextDelta, ToolCall
from model_client.errors import ModelMisbehaved, ModelStreamBroken, ModelTruncated
from model_client.exact_json import well_formed
from model_client.usage import ModelUsage, read_usage

_USABLE_CALL_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass
class _OpenCall:
    """A tool call whose fragments are still coming."""

    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def has_complete_arguments(self) -> bool:
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except ValueError:
            return False


@dataclass(frozen=True)
class FoldedAnswer:
    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: ModelUsage


class AnswerFolder:
    """Feed it every chunk with `add`, then ask for the answer with `finish`."""

    def __init__(self, new_call_id: Callable[[], str], taken_call_ids: frozenset[str] = frozenset()) -> None:
        self._new_call_id = new_call_id
        self._taken = taken_call_ids
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[_OpenCall] = []
        self._call_at_index: dict[int, int] = {}
        self._finish_reason: str | None = None
        self._usage = ModelUsage()
        self.started = False
        """Whether anything of the answer has come."""

    def add(self, chunk: object) -> list[TextDelta | ArgumentsDelta]:
        """Take one chunk in; returns what it adds to the answer."""
        if not isinstance(chunk, Mapping):
            return []
        self._usage = self._usage.updated(read_usage(chunk.get("usage")))
        choice = _first_choice(chunk)
        if choice is None:
            return []
        self._usage = self._usage.updated(read_usage(choice.get("usage")))
        if isinstance(choice.get("finish_reason"), str):
            self._finish_reason = choice["finish_reason"]
        delta = choice.get("delta")
        return list(self._add_delta(delta)) if isinstance(delta, Mapping) else []

    def finish(self) -> FoldedAnswer:
        """The answer. Raises ModelStreamBroken, ModelTruncated or ModelMisbehaved when there is none."""
        if self._finish_reason is None:
            raise ModelStreamBroken("no finish reason")
        if self._finish_reason == "length" and self._calls:
            raise ModelTruncated("length limit inside a tool call")
        text = well_formed("".join(self._text))
        calls = self._finished_calls()
        if not calls and not text.strip():
            raise ModelMisbehaved("empty answer")
        reasoning = well_formed("".join(self._reasoning))
        return FoldedAnswer(text, reasoning, calls, self._finish_reason, self._usage)

    def _add_delta(self, delta: Mapping[str, Any]) -> Iterator[TextDelta | ArgumentsDelta]:
        if reasoning := _text_of(delta.get("reasoning_content")):
            self.started = True
            self._reasoning.append(reasoning)
        if text := _text_of(delta.get("content")):
            self.started = True
            self._text.append(text)
            yield TextDelta(text)
        fragments = delta.get("tool_calls")
        for fragment in fragments if isinstance(fragments, list) else []:
            if isinstance(fragment, Mapping):
                self.started = True
                yield from self._add_call_fragment(fragment)

    def _add_call_fragment(self, fragment: Mapping[str, Any]) -> Iterator[ArgumentsDelta]:
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = _text_of(fragment.get("id")), _text_of(function.get("name"))
        position = self._position_of(fragment.get("index"), call_id, name)
        call = self._calls[position]
        call.call_id = call.call_id or call_id
        call.name = call.name or name
        arguments = function.get("arguments")
        text = json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else _text_of(arguments)
        if text:
            call.arguments.append(text)
            yield ArgumentsDelta(position, call.name, text)

    def _position_of(self, index: object, call_id: str, name: str) -> int:
        """Which call a fragment belongs to: by a known id, else by index, else the last one.

        Servers leave out the index, use one index for several calls, or send a call's tail under another index.
        """
        if call_id:
            for position, call in enumerate(self._calls):
                if call.call_id == call_id:
                    return position
        candidate = self._call_at_index.get(index) if isinstance(index, int) else None
        nothing_new = not call_id and not name
        if candidate is None and self._calls and (nothing_new or not isinstance(index, int)):
            candidate = len(self._calls) - 1
        if candidate is not None and not self._begins_another_call(self._calls[candidate], call_id, name):
            return candidate
        return self._open_call(index)

    def _open_call(self, index: object) -> int:
        self._calls.append(_OpenCall())
        position = len(self._calls) - 1
        if isinstance(index, int):
            self._call_at_index[index] = position
        return position

    @staticmethod
    def _begins_another_call(call: _OpenCall, call_id: str, name: str) -> bool:
        if call_id and call.call_id:
            return True  # known ids were found before
        return bool(name and call.name and (name != call.name or call.has_complete_arguments()))

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        """Calls with ids of their own and blank arguments as `{}`; everything else as it was streamed."""
        seen = set(self._taken)
        finished: list[ToolCall] = []
        for call in self._calls:
            usable = _USABLE_CALL_ID.fullmatch(call.call_id) and call.call_id not in seen
            call_id = call.call_id if usable else self._new_call_id()
            seen.add(call_id)
            arguments = well_formed("".join(call.arguments))
            finished.append(ToolCall(call_id, well_formed(call.name), arguments if arguments.strip() else "{}"))
        return tuple(finished)


def _first_choice(chunk: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else None


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""
