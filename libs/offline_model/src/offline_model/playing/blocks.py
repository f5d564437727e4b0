"""Reads the marked blocks that the agent and the curator write into their messages."""

import json
import re
from dataclasses import dataclass
from typing import Any

_FACT_LINE = re.compile(r"^- \[(?P<category>\w+)\] (?P<key>[^:\n]+): (?P<value>.+)$", re.MULTILINE)
_SKILL_LINE = re.compile(r"^- (?P<name>[^\s:]+): (?P<description>.*)$", re.MULTILINE)
_EXTERNAL = re.compile(r"<external_content[^>]*>(?P<inside>.*)</external_content>", re.DOTALL)


@dataclass(frozen=True)
class KnownFact:
    key: str
    value: str
    category: str

    @property
    def is_constraint(self) -> bool:
        return self.category == "constraint"


def inside(text: str, tag: str) -> str | None:
    """What stands between the first <tag> and the last </tag>, if both are there."""
    start, end = text.find(f"<{tag}>"), text.rfind(f"</{tag}>")
    if start < 0 or end < start:
        return None
    return text[start + len(tag) + 2 : end].strip("\n")


def known_facts(block: str) -> tuple[KnownFact, ...]:
    return tuple(
        KnownFact(found["key"].strip(), found["value"].strip(), found["category"])
        for found in _FACT_LINE.finditer(block)
    )


def skill_descriptions(catalogue: str) -> dict[str, str]:
    """By name."""
    return {found["name"]: found["description"] for found in _SKILL_LINE.finditer(catalogue)}


def platforms(turn_context: str) -> list[str]:
    """The platforms a turn is restricted to; none when it is not."""
    for line in turn_context.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "platforms":
            return [item.strip() for item in value.split(",") if item.strip() not in ("", "all")]
    return []


def tool_result(text: str) -> Any:
    """A tool's result as data, whether fenced or not; None where it is no JSON."""
    try:
        return json.loads(external_text(text))
    except ValueError:
        return None


def external_text(text: str) -> str:
    """A tool's result without the fence of external content."""
    fenced = _EXTERNAL.search(text)
    return (fenced["inside"] if fenced else text).strip()
