"""Where a turn stands, read from its log entries alone: so a later attempt continues where the last one stopped."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import UUID

from agent.context.messages import correction_code, tool_calls_of, tool_results
from agent.planner.plan import is_plan
from agent.tools import item_search
from common.memory_api.sessions import Layer, LogEntry, NewLogEntry
from common.memory_api.turns import Behaviour, MemoryUse
from common.memory_api.user_data import BehaviourKind
from model_client.answers import ToolCall
from model_client.arguments import read_arguments
from model_client.exact_json import well_formed


@dataclass(frozen=True)
class TurnState:
    """`answers` counts those of the model in the whole turn, `steps` those since it was last driven. `open_calls` have
    no result yet; `final_text` ends the turn. A plain answer that a correction follows is not final."""

    has_user_message: bool
    has_plan: bool
    has_memory_block: bool
    answers: int
    steps: int
    open_calls: tuple[ToolCall, ...]
    final_text: str | None


def read_state(entries: Sequence[LogEntry]) -> TurnState:
    """The state behind the entries of one turn."""
    current = [entry.message for entry in current_drive(entries)]
    places = [place for place, message in enumerate(current) if message.get("role") == "assistant"]
    answers = [current[place] for place in places]
    answered = {result.call_id for _, result in tool_results(entries)}
    last: Mapping[str, Any] = answers[-1] if answers else {}
    calls = tool_calls_of(last)
    is_final = bool(answers) and not calls and not _is_corrected(current, places[-1])
    return TurnState(
        has_user_message=any(entry.layer is Layer.L4 for entry in entries),
        has_plan=any(is_plan(entry) for entry in entries),
        has_memory_block=any(entry.layer is Layer.L5 for entry in entries),
        answers=sum(entry.message.get("role") == "assistant" for entry in entries),
        steps=len(answers),
        open_calls=tuple(call for call in calls if call.call_id not in answered),
        final_text=well_formed(str(last.get("content") or "")) if is_final else None,
    )


def _is_corrected(messages: Sequence[Mapping[str, Any]], place: int) -> bool:
    """Whether a correction stands right behind the answer; a notice may stand behind that."""
    return any(correction_code(message) is not None for message in messages[place + 1 : place + 2])


def current_drive(entries: Sequence[LogEntry]) -> Sequence[LogEntry]:
    """The entries since the turn was last driven anew: those after the last answer that something follows.

    An answer without calls ends a turn. Where more entries of the same turn follow it, an operator has driven the
    ended turn again, and that answer (mostly the fixed one of a failure) is not this drive's. A correction does not
    end an answer's drive: it is part of it.
    """
    messages = [entry.message for entry in entries]
    begin = 0
    for position, (message, following) in enumerate(pairwise(messages), start=1):
        plain = message.get("role") == "assistant" and not tool_calls_of(message)
        if plain and correction_code(following) is None:
            begin = position
    return entries[begin:]


def searches_of(entries: Sequence[LogEntry]) -> list[Behaviour]:
    """One entry of behaviour history per distinct search of the turn, in order."""
    queries: dict[str, None] = {}
    for call in _calls_of(entries):
        query = (read_arguments(call.arguments) or {}).get("query") if call.name == item_search.NAME else None
        if isinstance(query, str) and query.strip():
            queries.setdefault(" ".join(query.split())[:200])
    return [Behaviour(kind=BehaviourKind.SEARCH, text=query) for query in queries]


def memory_uses_of(entries: Iterable[LogEntry | NewLogEntry]) -> list[MemoryUse]:
    """Which facts the turn was shown, and how; each fact once per way."""
    uses: dict[tuple[UUID, str], MemoryUse] = {}
    for entry in entries:
        for fact_id in entry.memory_fact_ids:
            use = MemoryUse(fact_id=fact_id, how="injected" if entry.layer is Layer.L5 else "recalled")
            uses.setdefault((use.fact_id, use.how), use)
    return list(uses.values())


def _calls_of(entries: Sequence[LogEntry]) -> list[ToolCall]:
    return [call for entry in entries for call in tool_calls_of(entry.message)]
