"""What one client has been told of one turn, and so what an entry of the stream means to it. Pure.

Writers count their events per attempt from 1 without gaps, also over events that were lost. So a step of more
than one is a loss, and a lower attempt is a worker that no longer holds the turn.
"""

from enum import Enum, auto

from gateway.events.entry import START, EntryId, ProgressEntry


class Verdict(Enum):
    DELIVER = auto()
    DROP = auto()
    GAP = auto()
    """Something before this entry was lost; the memory service knows the state."""


class Delivery:
    """Entries are given to `receive` from the start of the stream, also for a client that resumes: those up to
    `resume_after`, the last one it has, are counted without being sent again.

    `anchored` is False as long as it is unknown what the client has missed, because the stream does not hold its
    last entry: trimmed, emptied, expired, or never there.
    """

    def __init__(self, resume_after: EntryId | None = None, *, anchored: bool = True) -> None:
        self._resume_after = resume_after
        self.position = START
        self.attempt = 0
        self._n = 0
        self.anchored = anchored
        self.ended = False
        self.memory_told = False

    @property
    def nothing_told(self) -> bool:
        return self.position == START

    def receive(self, entry: ProgressEntry) -> Verdict:
        if entry.id <= self.position or self.memory_told:
            return Verdict.DROP
        self.position = entry.id
        verdict = self._count(entry)
        if verdict is Verdict.DROP:
            return Verdict.DROP
        if self._client_has(entry):
            self.told(entry)
            return Verdict.DROP
        if self.ended and not entry.tells_memory:
            return Verdict.DROP
        if not self.anchored:
            self.anchored = True
            return Verdict.GAP
        if entry.tells_memory and not self.ended:  # curation follows the end, so the end was lost
            return Verdict.GAP
        if verdict is Verdict.DELIVER:
            self.told(entry)
        return verdict

    def told(self, entry: ProgressEntry) -> None:
        """The client has this entry. After a gap the caller says so, once it has dealt with the gap."""
        if entry.ends_answer:
            self.told_end()
        elif entry.tells_memory:
            self.told_memory()

    def told_end(self) -> None:
        """The client was told the end from the memory service."""
        self.ended = True

    def told_memory(self) -> None:
        self.ended = True
        self.memory_told = True

    def snapshot_sent(self, attempt: int) -> None:
        """The client was told the state, of which the stream has not told `attempt` yet."""
        self.anchored = True
        if attempt > self.attempt:
            self.attempt, self._n = attempt, 0

    def _count(self, entry: ProgressEntry) -> Verdict:
        if entry.attempt is None or entry.n is None:
            return Verdict.DELIVER
        if entry.attempt < self.attempt or (entry.attempt == self.attempt and entry.n <= self._n):
            return Verdict.DROP
        follows = entry.n == (self._n + 1 if entry.attempt == self.attempt else 1)
        self.attempt, self._n = entry.attempt, entry.n
        return Verdict.DELIVER if follows else Verdict.GAP

    def _client_has(self, entry: ProgressEntry) -> bool:
        return self._resume_after is not None and entry.id <= self._resume_after
