"""The text of a continuation summary: how it is written, and how it is read back from a later conversation."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

SIGN = "会话经过 (session so far)"
"""The first line. Whoever keeps a summary wraps it as it likes, so it is known by this."""
_LAST_SEARCH = "最近一次搜索 (last search)："


class Section(StrEnum):
    """The headings, in their order."""

    NEEDS = "用户先后的需求 (needs)："
    CONDITIONS = "约束 (constraints)："
    SHOWN = "展示过的商品 (shown)："
    DECISIONS = "已有的决定 (decisions)："


def summary_text(sections: Mapping[Section, Sequence[str]], last_search: str) -> str:
    """Sections without a line are left out."""
    lines = [SIGN]
    for section in Section:
        items = sections.get(section, ())
        lines += [section.value, *(f"- {item}" for item in items)] if items else []
    return "\n".join([*lines, *([_LAST_SEARCH + last_search] if last_search else [])])


def section_of(summary: str, wanted: Section) -> list[str]:
    """The lines of a section, wherever the summary stands in the text."""
    found: list[str] = []
    inside = False
    for line in summary.splitlines():
        if inside and line.startswith("- "):
            found.append(line.removeprefix("- "))
        else:
            inside = line == wanted
    return found


def last_search_of(summary: str) -> str:
    lines = [line for line in summary.splitlines() if line.startswith(_LAST_SEARCH)]
    return lines[-1].removeprefix(_LAST_SEARCH).strip() if lines else ""
