"""What the main model sees of a conversation: the newest turn, what was done in it, and what it may do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from offline_model.chat.requests import ChatMessage, ChatRequest
from offline_model.directives import Addressee, Directive, DirectiveName, read_directives, without_directives
from offline_model.language.reading import own_words
from offline_model.playing.asking import joined, request_asked_about
from offline_model.playing.blocks import KnownFact, inside, known_facts, platforms, skill_descriptions, tool_result
from offline_model.playing.conversation import MadeCall, PastTurn, made_calls, past_turns, said_in, turn_starts
from offline_model.playing.reproofs import Reproof, asks_to_wrap_up, reproofs_in
from offline_model.playing.summaries import SIGN

_MEMORY = "user_long_term_memory"
_PLAN = "turn_plan"
_MY_SKILLS = "my_skills"


@dataclass(frozen=True)
class Scene:
    words: str
    """What is wanted now: this turn's words, behind those of the request that they answer a question about."""
    answers: str = ""
    """The part of `words` that earlier turns said."""
    directives: tuple[Directive, ...] = ()
    platforms: list[str] = field(default_factory=list)
    memory_block: str | None = None
    facts: tuple[KnownFact, ...] = ()
    made: tuple[MadeCall, ...] = ()
    """The calls of this turn so far."""
    earlier: tuple[MadeCall, ...] = ()
    """The calls before this turn, also those that a compaction kept of a turn that is gone."""
    past: tuple[PastTurn, ...] = ()
    """The turns before, as far as the conversation still has them."""
    summary: str = ""
    """What a continuation summary says of turns that are gone."""
    told_to_wrap_up: bool = False
    reproofs: tuple[Reproof, ...] = ()
    session_constraints: dict[str, Any] = field(default_factory=dict)
    """What the turn's plan says that still holds from the turns before."""
    tools: frozenset[str] = frozenset()
    skills: frozenset[str] = frozenset()
    """The names in the catalogue of skills."""
    personal_skills: dict[str, str] = field(default_factory=dict)
    """The user's own skills: descriptions by name."""

    @property
    def said(self) -> str:
        """This turn's words alone."""
        return self.words.removeprefix(self.answers).lstrip("，, ")

    def results_of(self, tool: str) -> list[MadeCall]:
        return [call for call in self.made if call.name == tool]

    def directed(self, name: DirectiveName) -> list[str]:
        """The arguments of the directives of that name."""
        return [directive.argument for directive in self.directives if directive.name is name]


def read_scene(request: ChatRequest) -> Scene:
    start = (turn_starts(request.messages) or [len(request.messages) - 1])[-1]
    message, before, after = request.messages[start], request.messages[:start], request.messages[start + 1 :]
    said = said_in(message)
    memory = _newest_memory_block(after)
    reproofs = tuple(reproofs_in(after))
    past = tuple(past_turns(before))
    words = own_words(without_directives(said))
    asked = request_asked_about(words, past)
    return Scene(
        words=joined(asked, words) if asked else words,
        answers=asked,
        directives=read_directives(said, Addressee.MAIN),
        platforms=platforms(inside(message.text, "turn_context") or ""),
        memory_block=memory,
        facts=known_facts(memory or ""),
        made=made_calls(after),
        earlier=made_calls(before),
        past=past,
        summary=_newest_summary(request.messages),
        told_to_wrap_up=any(asks_to_wrap_up(reproof) for reproof in reproofs),
        reproofs=reproofs,
        session_constraints=_session_constraints(after),
        tools=request.tool_names,
        skills=_offered_skills(request.messages[0]),
        personal_skills=_personal_skills(request.messages),
    )


def _newest_memory_block(messages: Sequence[ChatMessage]) -> str | None:
    """The block of this turn. One of an earlier turn is not used: facts deleted since may still stand in it."""
    blocks = [inside(message.text, _MEMORY) for message in messages if _begins_with(message, _MEMORY)]
    return blocks[-1] if blocks else None


def _newest_summary(messages: Sequence[ChatMessage]) -> str:
    texts = [message.text for message in messages if message.role == "user" and SIGN in message.text]
    return texts[-1] if texts else ""


def _session_constraints(messages: Sequence[ChatMessage]) -> dict[str, Any]:
    plans = [tool_result(inside(message.text, _PLAN) or "") for message in messages if _begins_with(message, _PLAN)]
    held = plans[-1].get("session_constraints") if plans and isinstance(plans[-1], dict) else None
    return held if isinstance(held, dict) else {}


def _personal_skills(messages: Sequence[ChatMessage]) -> dict[str, str]:
    """Of the newest block: one that is not told again still holds."""
    blocks = [message.text for message in messages if message.role != "tool" and _begins_with(message, _MY_SKILLS)]
    return skill_descriptions(inside(blocks[-1], _MY_SKILLS) or "") if blocks else {}


def _begins_with(message: ChatMessage, tag: str) -> bool:
    return message.text.lstrip().startswith(f"<{tag}>")


def _offered_skills(first: ChatMessage) -> frozenset[str]:
    return frozenset(skill_descriptions(inside(first.text, "available_skills") or "") if first.role == "system" else ())
