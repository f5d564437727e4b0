"""Which skills a conversation has in front of it: their bodies stand in its requests."""

import json
import re
from collections.abc import Iterable, Mapping

from agent.context.rendering import Part

_BODY = re.compile(r'"content":"<skill_content name=\\"(?P<name>[^"\\]+)\\">')


def skill_content(name: str, body: str) -> str:
    return f'<skill_content name="{name}">\n{body}\n</skill_content>'


def skill_in(part: Part) -> str | None:
    """The skill whose body this is."""
    found = _BODY.search(part.text, 0, 600) if part.is_tool_result else None
    return found["name"] if found else None


def loaded_skills(parts: Iterable[Part]) -> Mapping[str, str]:
    """By name, what of each was read last. What compaction took is not among them, and may be read again; so may a
    skill that its user has written anew since."""
    return {name: json.loads(part.text)["content"] for part in parts if (name := skill_in(part)) is not None}
