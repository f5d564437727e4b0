"""L2: blocks for this turn only. Each source looks at the turn and says its block, or nothing; most turns have none."""

from collections.abc import Sequence
from typing import Protocol

from common.memory_api.sessions import LogEntry
from common.memory_api.turns import ClaimedTurn


class TurnBlockSource(Protocol):
    """`log` is the session's log before this turn: for what is said once, and again only when it has changed."""

    def block(self, claimed: ClaimedTurn, log: Sequence[LogEntry]) -> str | None:
        """The block's text. The same turn over the same log gives the same text."""
