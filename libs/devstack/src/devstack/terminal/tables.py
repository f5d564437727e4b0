"""Tables of what the system knows."""

from typing import Any

from devstack.terminal.screen import Screen


def show_facts(screen: Screen, facts: list[dict[str, Any]]) -> None:
    if not facts:
        screen.line("  长期记忆：空 · long-term memory: empty", "green")
        return
    rows = [(fact["category"], fact["key"], fact["value"], fact["source"]) for fact in facts]
    screen.table("长期记忆 · long-term memory", ("category", "key", "value", "from"), rows)
