"""L5: the block of long-term memory that goes in before the first main call of every turn."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.context.fences import one_line
from common.memory_api.facts import TIER_ONE_CAP, Fact, MemoryCategory, SessionFact
from common.memory_api.sessions import Layer, LogEntry

_RULE = (
    "标 [constraint] 的条目本轮必须遵守：把它写进 item_search 的 exclude，系统不会替你加。多块记忆以最新的一块为准。"
)
_THIS_SESSION = "（没存进长期记忆，只在本会话有效）"
_NONE = "（目前没有长期记忆；之前的记忆块已全部失效。）"

_CONSTRAINT = re.compile(
    r"^- \[constraint\] (?P<key>[^:：（\n]+)(?:（(?P<subject>[^）\n]*)）)?: (?P<value>.+)$", re.MULTILINE
)


class RememberedConstraint(NamedTuple):
    """A `[constraint]` line of a memory block."""

    key: str
    value: str
    subject: str = "self"


def select_tier_one_facts(facts: Sequence[Fact]) -> list[Fact]:
    """All constraints, without a cap; then the newest others up to TIER_ONE_CAP in all. Ties by key.

    Newest is by `seq`, the order of the last writer; clocks order nothing.
    """
    ordered = sorted(facts, key=lambda fact: (-fact.seq, fact.key))
    constraints = [fact for fact in ordered if fact.category is MemoryCategory.CONSTRAINT]
    others = [fact for fact in ordered if fact.category is not MemoryCategory.CONSTRAINT]
    return constraints + others[: max(0, TIER_ONE_CAP - len(constraints))]


def render_memory_block(facts: Sequence[Fact], session_facts: Sequence[SessionFact] = ()) -> str:
    """The block for the selected facts, in their order, then what holds for this session alone; the latter stands in
    place of an older fact of its key.

    Without facts it says that earlier blocks no longer count; the caller leaves it out where there was none.
    """
    held = {fact.key for fact in session_facts}
    lines = [_line(fact) for fact in facts if fact.key not in held]
    lines += [f"{_line_of(fact)}{_THIS_SESSION}" for fact in session_facts]
    body = [*lines, _RULE] if lines else [_NONE]
    return "\n".join(["<user_long_term_memory>", *body, "</user_long_term_memory>"])


def _line(fact: Fact) -> str:
    return _line_of(fact, "" if fact.subject == "self" else f"（{one_line(fact.subject)}）")


def _line_of(fact: Fact | SessionFact, whose: str = "") -> str:
    return f"- [{fact.category.value}] {one_line(fact.key)}{whose}: {one_line(fact.value)}"


def constraints_in(entries: Sequence[LogEntry]) -> tuple[RememberedConstraint, ...]:
    """Those of the newest memory block among the entries, in its order: read from the log, since an attempt that takes
    over does not read the facts again. An erased block has none."""
    blocks = [str(entry.message.get("content", "")) for entry in entries if entry.layer is Layer.L5]
    return tuple(
        RememberedConstraint(found["key"], found["value"].removesuffix(_THIS_SESSION), found["subject"] or "self")
        for found in _CONSTRAINT.finditer(blocks[-1] if blocks else "")
    )
