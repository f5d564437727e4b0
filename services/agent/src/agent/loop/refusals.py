"""Calls that are not run, and what their results say instead."""

from collections.abc import Iterable, Mapping

from agent.context.messages import correction_code
from agent.loop.corrections import Correction
from agent.loop.guards.limits import is_last_answer
from agent.loop.turn import Turn
from agent.tools import shopping_summary
from common.memory_api.sessions import NewLogEntry
from model_client.answers import ToolCall

_NO_MORE_TOOLS = "not run: this was to be the last answer of the turn, with no call but shopping_summary"
_CLAIMED_AN_ORDER = (
    "not shown to the user: it says that an order is settled, and only the user can confirm or cancel one"
)
_HID_A_CONFLICT = "not shown to the user: it lists products that contradict remembered constraints without saying so"


def refused_calls(turn: Turn, calls: Iterable[ToolCall], said: Iterable[NewLogEntry]) -> Mapping[str, str]:
    """By call id. `said` is what hooks have added to the answer with these calls."""
    codes = {correction_code(entry.message) for entry in said}
    is_last = is_last_answer(turn)
    refused: dict[str, str] = {}
    for call in calls:
        if call.name == shopping_summary.NAME:
            if Correction.ORDER_NOT_CONFIRMED in codes:
                refused[call.call_id] = _CLAIMED_AN_ORDER
            elif Correction.UNNAMED_CONFLICT in codes:
                refused[call.call_id] = _HID_A_CONFLICT
        elif is_last:
            refused[call.call_id] = _NO_MORE_TOOLS
    return refused
