"""What picking works with: the session's words and the user's favourites. Long-term memory is not in it.

Memory acts through the model alone, which writes constraints into the search arguments, where they can be seen
(seed 002, decision 2).
"""

from collections.abc import Sequence
from typing import NamedTuple

from agent.session_constraints.constraints import SessionConstraints


class MemoryBundle(NamedTuple):
    """`exclude` drops an item, `penalty` and `must` move it down or up, `affinity` are the item ids of favourites."""

    exclude: tuple[str, ...]
    penalty: tuple[str, ...]
    must: tuple[str, ...]
    affinity: tuple[str, ...]


def assemble(constraints: SessionConstraints, favourites: Sequence[str]) -> MemoryBundle:
    return MemoryBundle(constraints.exclude, constraints.penalty, constraints.must, tuple(favourites))
