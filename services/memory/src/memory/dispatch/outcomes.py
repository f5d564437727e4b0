"""How the last attempts of each kind of work went, as this process has seen them."""

from collections import deque
from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from common.memory_api.dispatch import WorkKind
from memory.policy import CircuitPolicy


class _Attempt(NamedTuple):
    subject_id: UUID
    failed: bool


class Circuits:
    """Which circuits this process believes to be open, and what it judges by.

    Several failing records are asked for: one that fails at every try says nothing about the others.
    """

    def __init__(self, policy: CircuitPolicy) -> None:
        self._policy = policy
        self._attempts = {kind: deque[_Attempt](maxlen=policy.window) for kind in WorkKind}
        self._open: set[WorkKind] = set()

    def note(self, kind: WorkKind, subject_id: UUID, *, failed: bool) -> None:
        self._attempts[kind].append(_Attempt(subject_id, failed))

    def nearly_everything_fails(self, kind: WorkKind) -> bool:
        attempts = self._attempts[kind]
        failed = [each.subject_id for each in attempts if each.failed]
        return (
            len(attempts) == self._policy.window
            and len(failed) >= self._policy.share * len(attempts)
            and len(set(failed)) >= self._policy.records
        )

    def is_closed(self, kind: WorkKind) -> bool:
        return kind not in self._open

    def note_open(self, kind: WorkKind) -> None:
        self._open.add(kind)

    def note_closed(self, kind: WorkKind) -> None:
        """Judge by what comes from now on."""
        self._open.discard(kind)
        self._attempts[kind].clear()

    def agree(self, open_kinds: Collection[WorkKind]) -> None:
        """Take over what the database says, whoever wrote it."""
        for kind in open_kinds:
            self.note_open(kind)
        for kind in self._open - set(open_kinds):
            self.note_closed(kind)
