"""Products in tool results, read back out of a stored result as cards."""

from collections.abc import Sequence

from agent.context.messages import message_of, tool_calls_of, tool_results
from agent.tools import item_search
from agent.tools.item_search import read_items
from common.memory_api.sessions import LogEntry
from common.memory_api.turns import ItemCard


def items_shown_in(entries: Sequence[LogEntry]) -> list[ItemCard]:
    """Every product that the searches of these entries returned, in their order; one may come more than once."""
    calls = {
        call.call_id for entry in entries for call in tool_calls_of(message_of(entry)) if call.name == item_search.NAME
    }
    return [
        card for _, result in tool_results(entries) if result.call_id in calls for card in read_items(result.content)
    ]
