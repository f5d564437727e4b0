"""What is known of a user, in a transaction that holds their lock: read once, and kept up with what it writes itself.

Nobody else writes meanwhile: every change of memory goes through that lock.
"""

from collections.abc import Iterable, Sequence

from memory.database.transactions import UserTransaction
from memory.facts.rows import MemoryFactRow, read_rows_for_writing
from memory.facts.tombstones import Tombstones, read_tombstones


class Known:
    """The facts that have not expired, and the user's tombstones."""

    def __init__(self, facts: Iterable[MemoryFactRow], tombstones: Tombstones) -> None:
        self._facts = {row.fact_key: row for row in facts}
        self.tombstones = tombstones

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def facts(self) -> Sequence[MemoryFactRow]:
        """Newest first, ties by key."""
        return sorted(self._facts.values(), key=lambda row: (-row.order.seq, row.fact_key))

    def of_key(self, fact_key: str) -> MemoryFactRow | None:
        return self._facts.get(fact_key)

    def note(self, written: MemoryFactRow) -> None:
        self._facts[written.fact_key] = written


async def read_known(tx: UserTransaction) -> Known:
    """Removes what has expired; the caller holds the user's lock."""
    return Known(await read_rows_for_writing(tx), await read_tombstones(tx))
