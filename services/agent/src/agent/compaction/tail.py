"""What stays as it was behind a summary: the recent conversation, cut where a call is not parted from its result."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agent.context.rendering import Part
from common.memory_api.sessions import LogEntry


@dataclass(frozen=True)
class Tail:
    """The entries from position `begin` on, and before them those at the positions `kept`."""

    begin: int
    kept: tuple[int, ...] = ()


def choose_tail(parts: Sequence[Part], log: Sequence[LogEntry], budget: int) -> Tail:
    """As many whole turns as fit into `budget` bytes.

    Where the present turn alone does not fit, its opening is kept (the user's words, the memory block), and of its
    steps as many as fit, but always the last one, whose results the model has not seen.
    """
    starts = _turn_starts(log)
    for start in starts:
        if _size_from(parts, start) <= budget:
            return Tail(start)
    present = [part for part in parts if part.position >= starts[-1]]
    answers = [part.position for part in present if part.is_answer]
    if not answers:
        return Tail(starts[-1])
    begin = next((position for position in answers if _size_from(parts, position) <= budget), answers[-1])
    return Tail(begin, tuple(part.position for part in present if part.position < answers[0]))


def _turn_starts(log: Sequence[LogEntry]) -> list[int]:
    return [log[0].position] + [later.position for earlier, later in pairwise(log) if later.turn_id != earlier.turn_id]


def _size_from(parts: Sequence[Part], position: int) -> int:
    return sum(part.size for part in parts if part.position >= position)
