"""What `save_memory` could not store in this session because memory did not answer, read from the session's log.

The receipt says that the assistant will keep to it for now. So it stays in force for its session: each later turn hands
it to memory, which tells what of it still holds. Nothing but the log remembers it.
"""

from collections.abc import Sequence

from pydantic import ValidationError

from agent.context.messages import tool_calls_of, tool_results
from agent.tools import save_memory
from common.memory_api.facts import ProposedFact, UnsavedFact
from common.memory_api.sessions import LogEntry
from model_client.answers import ToolCall
from model_client.arguments import read_arguments

_MOST = 50
"""Newest ones handed over; more would be a session in which memory never answered."""


def unsaved_facts(log: Sequence[LogEntry]) -> list[UnsavedFact]:
    """In the order in which they were said."""
    lost = {result.call_id for _, result in tool_results(log) if save_memory.was_not_stored(result.content)}
    found = [
        UnsavedFact(turn_id=entry.turn_id, proposed=proposed)
        for entry in log
        for call in tool_calls_of(entry.message)
        if call.name == save_memory.NAME and call.call_id in lost and (proposed := _proposed(call)) is not None
    ]
    return found[-_MOST:]


def _proposed(call: ToolCall) -> ProposedFact | None:
    try:
        return save_memory.proposed_by(read_arguments(call.arguments) or {})
    except ValidationError:
        return None
