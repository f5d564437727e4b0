"""What the main model sees of a conversation: the newest turn, what was done in it, and what it may do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from offline_model.chat.requests import ChatMessage, ChatRequest
from offline_model.directives import Addressee, Directive, DirectiveName, read_directives, without_directives
from offline_model.language.reading import readable
from offline_model.playing.blocks import KnownFact, inside, known_facts, platforms, tool_result

_MEMORY = "user_long_term_memory"
_WORDS = "user_message"
_WRAP_UP_SIGNS = ("收尾", "步数", "wrap up", "wrap-up", "step limit", "last step", "steps left")


@dataclass(frozen=True)
class MadeCall:
    """A tool call of this conversation with its result."""

    name: str
    arguments: dict[str, Any] | None
    """None where the argument text was no JSON object."""
    result: str

    @property
    def result_data(self) -> Any:
        return tool_result(self.result)


@dataclass(frozen=True)
class Scene:
    words: str
    directives: tuple[Directive, ...] = ()
    platforms: list[str] = field(default_factory=list)
    memory_block: str | None = None
    facts: tuple[KnownFact, ...] = ()
    made: tuple[MadeCall, ...] = ()
    """The calls of this turn so far."""
    earlier: tuple[MadeCall, ...] = ()
    """The calls of the turns before."""
    told_to_wrap_up: bool = False
    tools: frozenset[str] = frozenset()

    def results_of(self, tool: str) -> list[MadeCall]:
        return [call for call in self.made if call.name == tool]

    def directed(self, name: DirectiveName) -> list[str]:
        """The arguments of the directives of that name."""
        return [directive.argument for directive in self.directives if directive.name is name]


def read_scene(request: ChatRequest) -> Scene:
    start = _newest_turn(request.messages)
    message, after = request.messages[start], request.messages[start + 1 :]
    said = inside(message.text, _WORDS)
    said = message.text if said is None else said
    memory = _newest_memory_block(after)
    return Scene(
        words=readable(without_directives(said)),
        directives=read_directives(said, Addressee.MAIN),
        platforms=platforms(inside(message.text, "turn_context") or ""),
        memory_block=memory,
        facts=known_facts(memory or ""),
        made=_made_calls(after),
        earlier=_made_calls(request.messages[:start]),
        told_to_wrap_up=any(_asks_to_wrap_up(message) for message in after),
        tools=request.tool_names,
    )


def _newest_turn(messages: Sequence[ChatMessage]) -> int:
    """Where the newest words of the user are. A client that knows no marked blocks may send plain user messages."""
    users = [i for i, message in enumerate(messages) if message.role == "user" and not _is_memory(message)]
    marked = [i for i in users if inside(messages[i].text, _WORDS) is not None]
    return (marked or users or [len(messages) - 1])[-1]


def _is_memory(message: ChatMessage) -> bool:
    return message.text.lstrip().startswith(f"<{_MEMORY}>")


def _newest_memory_block(messages: Sequence[ChatMessage]) -> str | None:
    """The block of this turn. One of an earlier turn is not used: facts deleted since may still stand in it."""
    blocks = [inside(message.text, _MEMORY) for message in messages if _is_memory(message)]
    return blocks[-1] if blocks else None


def _asks_to_wrap_up(message: ChatMessage) -> bool:
    if message.role not in ("system", "user") or _is_memory(message):
        return False
    text = message.text.casefold()
    return any(sign in text for sign in _WRAP_UP_SIGNS)


def _made_calls(messages: Sequence[ChatMessage]) -> tuple[MadeCall, ...]:
    results = {message.tool_call_id: message.text for message in messages if message.role == "tool"}
    return tuple(
        MadeCall(call.function.name, _arguments(call.function.arguments), results.get(call.id, ""))
        for message in messages
        for call in message.tool_calls
    )


def _arguments(text: str) -> dict[str, Any] | None:
    data = tool_result(text)
    return data if isinstance(data, dict) else None
