"""Takes a conversation apart into turns: what the user said, and what was done and answered upon it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from offline_model.chat.requests import ChatMessage
from offline_model.playing.blocks import inside, tool_result

WORDS = "user_message"
_BLOCK = re.compile(r"\s*<[a-z_]+[ >]")


@dataclass(frozen=True)
class MadeCall:
    """A tool call of this conversation with its result."""

    name: str
    arguments: dict[str, Any] | None
    """None where the argument text was no JSON object."""
    result: str
    step: int = 0
    """The calls of one answer have the same number."""

    @property
    def result_data(self) -> Any:
        return tool_result(self.result)


@dataclass(frozen=True)
class PastTurn:
    said: str
    """The user's words, directives included."""
    made: tuple[MadeCall, ...]
    reply: str
    """What the user was answered; empty while the turn goes on."""


def turn_starts(messages: Sequence[ChatMessage]) -> list[int]:
    """Where turns begin. A client that knows no marked blocks may send plain user messages."""
    users = [i for i, message in enumerate(messages) if message.role == "user" and not is_block(message)]
    marked = [i for i, message in enumerate(messages) if message.role == "user" and _marked_words(message) is not None]
    return marked or users


def said_in(message: ChatMessage) -> str:
    marked = _marked_words(message)
    return message.text if marked is None else marked


def _marked_words(message: ChatMessage) -> str | None:
    return inside(message.text, WORDS)


def is_block(message: ChatMessage) -> bool:
    """A message that begins with a tag is the system's, whatever its role, unless it holds the user's words."""
    return _BLOCK.match(message.text) is not None and _marked_words(message) is None


def past_turns(messages: Sequence[ChatMessage]) -> Iterator[PastTurn]:
    """The turns in these messages, in order."""
    starts = turn_starts(messages)
    for start, end in pairwise([*starts, len(messages)]):
        after = messages[start + 1 : end]
        made = made_calls(after)
        yield PastTurn(said_in(messages[start]), made, _reply(after, made))


def made_calls(messages: Sequence[ChatMessage]) -> tuple[MadeCall, ...]:
    results = {message.tool_call_id: message.text for message in messages if message.role == "tool"}
    return tuple(
        MadeCall(call.function.name, _arguments(call.function.arguments), results.get(call.id, ""), step)
        for step, message in enumerate(messages)
        for call in message.tool_calls
    )


def _reply(messages: Sequence[ChatMessage], made: tuple[MadeCall, ...]) -> str:
    summaries = [call.arguments for call in made if call.name == "shopping_summary" and call.arguments]
    if summaries:
        return str(summaries[-1].get("reply", ""))
    texts = [message.text for message in messages if message.role == "assistant" and not message.tool_calls]
    return texts[-1] if texts else ""


def _arguments(text: str) -> dict[str, Any] | None:
    data = tool_result(text)
    return data if isinstance(data, dict) else None
