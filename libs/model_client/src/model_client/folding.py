"""Folds the chunks of a stream into an answer, whatever shape they come in.

Chunks are plain JSON values. The table of faults this survives is facts/context.md 4.2; each row has a test.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model_client.answers import ArgumentsDelta, TextDelta, ToolCall
from model_client.arguments import ArgumentsFault, fault_of
from model_client.call_fragments import CallFragments
from model_client.errors import (
    ContextOverflow,
    ModelCallUnreadable,
    ModelEmpty,
    ModelFiltered,
    ModelMisbehaved,
    ModelStreamBroken,
    ModelTruncated,
)
from model_client.exact_json import well_formed
from model_client.usage import ModelUsage, UsageReports
from model_client.written_calls import BEGIN, WrittenCallGate, read_written_calls, without_written_calls

_REASONING_FIELDS = ("reasoning_content", "reasoning")

Delta = TextDelta | ArgumentsDelta


@dataclass(frozen=True)
class FoldedAnswer:
    """`held_back` are the deltas that could be told only at the end."""

    text: str
    reasoning: str
    tool_calls: tuple[ToolCall, ...]
    malformed_calls: tuple[str, ...]
    finish_reason: str
    usage: ModelUsage
    held_back: tuple[Delta, ...]


class AnswerFolder:
    """Feed it every chunk with `add`, then ask for the answer with `finish`.

    `tools` is the array that was offered, as JSON text; `max_tokens` the limit that was asked for.
    `answer_in_reasoning` takes the reasoning for the answer where there is no other.
    """

    def __init__(
        self,
        new_call_id: Callable[[], str],
        taken_call_ids: frozenset[str] = frozenset(),
        *,
        tools: str | None = None,
        max_tokens: int | None = None,
        answer_in_reasoning: bool = False,
    ) -> None:
        self._tools = tools
        self._max_tokens = max_tokens
        self._answer_in_reasoning = answer_in_reasoning
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls = CallFragments(new_call_id, taken_call_ids)
        self._gate = WrittenCallGate()
        self._held_back: list[Delta] = []
        self._finish_reason: str | None = None
        self._usage = UsageReports()
        self.started = False
        """Whether anything of the answer has come."""

    def add(self, chunk: object) -> list[Delta]:
        """Take one chunk in; returns what it adds to the answer."""
        if not isinstance(chunk, Mapping):
            return []
        choice = _first_choice(chunk)
        self._usage.add(chunk, choice)
        if choice is None:
            return []
        if isinstance(choice.get("finish_reason"), str):
            self._finish_reason = choice["finish_reason"]
        delta = choice.get("delta")
        return list(self._add_delta(delta)) if isinstance(delta, Mapping) else []

    def finish(self) -> FoldedAnswer:
        """The answer. Raises ModelStreamBroken, ModelFiltered, ContextOverflow, or a kind of ModelMisbehaved."""
        reason = self._reason_of_an_answer()
        text = self._without_written_calls("".join(self._text), reason)
        calls = self._calls.finish()
        if not calls and not text.strip():
            text += self._answer_in_place_of_none(reason)
        faults = {call.call_id: fault for call in calls if (fault := fault_of(call.arguments)) is not None}
        if self._is_cut_off(reason, calls, faults):
            raise self._unusable(ModelTruncated, "length limit inside a tool call")
        if rest := text[self._gate.told :]:
            self._held_back.insert(0, TextDelta(rest))
        return FoldedAnswer(
            text=well_formed(text),
            reasoning=well_formed("".join(self._reasoning)),
            tool_calls=calls,
            malformed_calls=tuple(faults),
            finish_reason=reason,
            usage=self._usage.read(),
            held_back=tuple(self._held_back),
        )

    def _add_delta(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        # Two names for the same: where a server sends both, the text is there twice.
        if reasoning := next((text for name in _REASONING_FIELDS if (text := _text_of(delta.get(name)))), ""):
            self.started = True
            self._reasoning.append(reasoning)
        if text := _text_of(delta.get("content")):
            self.started = True
            self._text.append(text)
            if piece := self._gate.add(text):
                yield TextDelta(piece)
        fragments = delta.get("tool_calls")
        for fragment in fragments if isinstance(fragments, list) else []:
            if isinstance(fragment, Mapping):
                self.started = True
                yield from self._calls.add(fragment)

    def _reason_of_an_answer(self) -> str:
        match self._finish_reason:
            case None:
                raise ModelStreamBroken("no finish reason")
            case "error" | "abort":
                raise ModelStreamBroken("ended by an error")
            case "content_filter":
                raise ModelFiltered
            case "model_context_window_exceeded":
                raise ContextOverflow
            case reason:
                return reason

    def _without_written_calls(self, text: str, reason: str) -> str:
        """The text, after the calls that were written into it have joined the others.

        Calls in the reasoning count only where there is nothing else: a model may think of a call and not make it.
        """
        reasoning = "".join(self._reasoning)
        source = text if text.strip() else reasoning
        if self._calls or self._tools is None or BEGIN not in source:
            return text
        written = read_written_calls(source, self._tools)
        if written is None and source is reasoning:
            return text
        if written is None:
            kind = ModelTruncated if reason == "length" else ModelCallUnreadable
            raise self._unusable(kind, "a tool call in the text that cannot be read")
        for index, (name, arguments) in enumerate(written):
            fragment = {"index": index, "function": {"name": name, "arguments": arguments}}
            self._held_back.extend(self._calls.add(fragment))
        return without_written_calls(text)

    def _answer_in_place_of_none(self, reason: str) -> str:
        reasoning = "".join(self._reasoning)
        if reason == "length":
            raise self._unusable(ModelTruncated, "length limit before the answer")
        if not self._answer_in_reasoning or not reasoning.strip():
            raise self._unusable(ModelEmpty, "empty answer")
        self._reasoning.clear()
        return reasoning

    def _is_cut_off(self, reason: str, calls: Sequence[ToolCall], faults: Mapping[str, ArgumentsFault]) -> bool:
        """Whether a call is incomplete, by the finish reason or, where that is wrong, by the count of tokens."""
        if reason == "length":
            return bool(calls)
        written = self._usage.read().completion_tokens
        at_limit = self._max_tokens is not None and written is not None and written >= self._max_tokens
        return at_limit and ArgumentsFault.CUT_OFF in faults.values()

    def _unusable(self, kind: type[ModelMisbehaved], reason: str) -> ModelMisbehaved:
        return kind(reason, reasoning=well_formed("".join(self._reasoning)), usage=self._usage.read())


def _first_choice(chunk: Mapping[str, Any]) -> Mapping[str, Any] | None:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, Mapping) else None


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""
