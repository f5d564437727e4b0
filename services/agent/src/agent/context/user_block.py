"""L4: this turn's user message, with what the system adds to it."""

from collections.abc import Sequence

from agent.context.fences import neutralise, one_line
from common.memory_api.turns import Behaviour


def render_user_block(text: str, platforms: Sequence[str], behaviour: Sequence[Behaviour]) -> str:
    """The content of the user message. `behaviour` comes in its order: purchases, then searches, newest first."""
    shown_platforms = ", ".join(one_line(platform) for platform in platforms) or "all"
    history = [f"- {entry.kind.value}: {one_line(entry.text)}" for entry in behaviour]
    heading = ["behaviour_history:", *history] if history else ["behaviour_history: none"]
    return "\n".join(
        [
            "<turn_context>",
            f"platforms: {shown_platforms}",
            *heading,
            "</turn_context>",
            "<user_message>",
            neutralise(text),
            "</user_message>",
        ]
    )
