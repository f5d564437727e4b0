"""Fences: the tags that tell the model whose words it reads. Words from outside cannot close or open one."""

from common.fences import neutraliser

_TAGS = (
    "turn_context",
    "user_message",
    "user_long_term_memory",
    "external_content",
    "system_notice",
    "correction",
    "turn_plan",
    "session_constraints",
    "strategies",
    "pending_order",
    "skill_content",
    "available_skills",
    "my_skills",
    "session_summary",
    "compaction_request",
    "recent_conversation",
    "repair_request",
)

neutralise = neutraliser(_TAGS)
"""The text with every fence mark in it made harmless."""


def one_line(text: str) -> str:
    """The text on one line and without fence marks, for a place in a list."""
    return neutralise(" ".join(text.split()))


def external_content(source: str, content: str) -> str:
    return f'<external_content source="{source}">\n{neutralise(content)}\n</external_content>'


def inside(text: str, tag: str) -> str | None:
    """What stands between the first mark that opens the tag and the last that closes it."""
    start, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
    if start < 0 or end < start:
        return None
    return text[start + len(tag) + 2 : end].strip("\n")
