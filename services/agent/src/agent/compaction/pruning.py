"""Tier 1, for nothing: the oldest tool results become one line each. The calls stay, and so do skill bodies."""

from collections.abc import Sequence

from agent.context.rendering import Part
from agent.skills.loaded import skill_in

_WORTH = 400
"""Bytes below which a result is not worth replacing: receipts and placeholders."""


def size_of_results(parts: Sequence[Part]) -> int:
    """Bytes of the tool results that could be pruned some day."""
    return sum(part.size for part in parts if _is_prunable(part))


def results_to_prune(parts: Sequence[Part], *, before: int, left: int, at_least: int) -> tuple[int, ...]:
    """Positions of the oldest results, as many as it takes until `left` bytes of results are left.

    Only those before the position `before`; none at all where that would free less than `at_least` bytes, since
    every pruning costs the whole prefix behind it.
    """
    remaining, freed, positions = size_of_results(parts), 0, []
    for part in parts:
        if remaining <= left or part.position >= before:
            break
        if _is_prunable(part):
            positions.append(part.position)
            remaining -= part.size
            freed += part.size
    return tuple(positions) if positions and freed >= at_least else ()


def _is_prunable(part: Part) -> bool:
    return part.is_tool_result and part.size > _WORTH and skill_in(part) is None
