"""The promises of the design (section 3), held against what somebody outside was told and can see."""

from collections import defaultdict
from collections.abc import Mapping

from tests.integration.memory.turn_life.vocabulary import Accepted, KnownFact, LogLine, Saying, Shape, View, WorkName
from tests.integration.memory.turn_life.workers import calls_without_one_result

from common.memory_api.dispatch import WorkKind, WorkState
from common.memory_api.facts import FactAction
from common.memory_api.turns import TurnStatus

_OPEN_WORK = (WorkState.PENDING, WorkState.LEASED)


class Promises:
    """Is told of every word and answer, and looks at what is held of a user after each step."""

    def __init__(self) -> None:
        self._turns: dict[str, dict[str, tuple[str, Accepted]]] = defaultdict(dict)
        """By user: session and acceptance of every turn that must still be there."""
        self._seen: dict[str, View] = {}
        self._holder: dict[WorkName, str] = {}
        """Who claimed the work last, while nobody has taken it from them."""
        self._finished_by: dict[str, str] = {}
        self._ingested_by: dict[WorkName, str] = {}
        self._driven_again: set[str] = set()
        self._deleted: dict[tuple[str, str], int] = {}
        self._cleared_at: dict[str, int] = {}
        """Seq at which the user's memory was cleared: nothing up to it may be remembered."""

    # What was said and answered.

    def accepted(self, user: str, session: str, accepted: Accepted) -> None:
        before = [each.seq for _, each in self._turns[user].values()]
        assert all(seq < accepted.seq for seq in before), "seq restarted"
        self._turns[user][accepted.turn] = (session, accepted)

    def accepted_again(self, user: str, turn: str, answered: str) -> None:
        if turn in self._turns[user]:
            assert answered == turn, "accepted twice"

    def claimed(self, work: WorkName, token: str) -> None:
        self._holder[work] = token

    def holds(self, work: WorkName, token: str) -> bool:
        return self._holder.get(work) == token

    def wrote(self, user: str, turn: str, token: str) -> None:
        assert self._holder.get(WorkName(WorkKind.TURN, turn)) == token, "somebody wrote without the lease"

    def finished(self, turn: str, token: str) -> None:
        assert self._finished_by.setdefault(turn, token) == token, "finished by two agents"

    def ingested(self, work: WorkName, token: str) -> None:
        assert self._ingested_by.setdefault(work, token) == token, "curated by two curators"

    def told(
        self, saying: Saying, action: str, before: Mapping[str, KnownFact], after: Mapping[str, KnownFact]
    ) -> None:
        """What the user was told was remembered, was remembered. An answer that repeats an older one changes nothing:
        the user may have said something else since."""
        if FactAction(action).remembered and before != after:
            assert after[saying.key].value == saying.value

    def deleted(self, user: str, key: str, seq: int) -> None:
        self._deleted[user, key] = seq

    def cleared(self, user: str) -> None:
        self._cleared_at[user] = self._seen[user].seq

    def erased(self, user: str) -> None:
        self.cleared(user)
        for turn in self._turns.pop(user, {}):
            self._finished_by.pop(turn, None)
        self._seen[user] = View(self._seen[user].seq, self._seen[user].generation)

    def driven_again(self, work: WorkName) -> None:
        """An operator has it begin anew: it may end once more."""
        if work.kind is WorkKind.TURN:
            self._driven_again.add(work.subject)
            self._finished_by.pop(work.subject, None)
            for curated in [each for each in self._ingested_by if each.subject == work.subject]:
                del self._ingested_by[curated]

    # What must hold.

    def hold(self, user: str, view: View) -> None:
        before = self._seen.get(user)
        if before is not None:
            self._counters_never_go_back(before, view)
            self._ends_are_final(before, view)
            self._logs_only_grow(before, view)
        self._driven_again -= {turn for turn, (status, _) in view.turns.items() if TurnStatus(status).open}
        self._nothing_is_lost(user, view)
        self._sessions_are_in_order(user, view)
        self._every_work_is_done_once(view)
        self._nothing_comes_back(user, view)
        for work, (state, _) in view.work.items():
            if state != WorkState.LEASED:
                self._holder.pop(work, None)
        self._seen[user] = view

    @staticmethod
    def hold_when_settled(view: View) -> None:
        still_open = [work for work, (state, _) in view.work.items() if state in _OPEN_WORK]
        assert not still_open, "work that nobody would ever do"
        assert not [turn for turn, (status, _) in view.turns.items() if TurnStatus(status).open]

    @staticmethod
    def _counters_never_go_back(before: View, view: View) -> None:
        assert view.seq >= before.seq
        assert view.generation >= before.generation

    def _ends_are_final(self, before: View, view: View) -> None:
        for turn, (status, _) in before.turns.items():
            if not TurnStatus(status).open and turn not in self._driven_again:
                assert view.turns[turn][0] == status, f"{turn} ended twice"

    @staticmethod
    def _logs_only_grow(before: View, view: View) -> None:
        for session, log in before.logs.items():
            now = view.logs[session][: len(log)]
            assert len(now) == len(log)
            assert all(_is_or_was(new, old) for new, old in zip(now, log, strict=True)), "the log was rewritten"

    def _nothing_is_lost(self, user: str, view: View) -> None:
        assert set(view.turns) == set(self._turns[user]), "a turn was lost, or came from nowhere"
        for turn, (status, _) in view.turns.items():
            state, _ = view.work[WorkName(WorkKind.TURN, turn)]
            assert TurnStatus(status).open == (state in _OPEN_WORK), f"{turn} is {status} and its work {state}"

    def _sessions_are_in_order(self, user: str, view: View) -> None:
        open_ones = [self._turns[user][turn][0] for turn, (status, _) in view.turns.items() if TurnStatus(status).open]
        assert len(open_ones) == len(set(open_ones)), "two turns at a time in a session"
        assert all(view.sessions[session] == "open" for session in open_ones)
        for log in view.logs.values():
            order = [self._turns[user][line.turn][1].seq for line in log]
            assert order == sorted(order), "a later turn wrote before an earlier one"
            for turn in {line.turn for line in log}:
                if not TurnStatus(view.turns[turn][0]).open:
                    assert calls_without_one_result(log, turn) == 0

    @staticmethod
    def _every_work_is_done_once(view: View) -> None:
        for turn, (status, _) in view.turns.items():
            curations = [work for work in view.work if work.kind is WorkKind.CURATE_TURN and work.subject == turn]
            wanted = status in (TurnStatus.COMPLETED, TurnStatus.FAILED)
            assert [work.run for work in curations].count(0) == wanted, f"{turn} is {status}: {curations}"

    def _nothing_comes_back(self, user: str, view: View) -> None:
        for key, fact in view.facts.items():
            assert fact.seq > self._cleared_at.get(user, -1), f"{key} is of a cleared generation"
            assert fact.seq > self._deleted.get((user, key), -1), f"{key} was deleted later"
            for turn in fact.evidence:
                assert self._turns[user][turn][1].generation == view.generation


def _is_or_was(new: LogLine, old: LogLine) -> bool:
    return new == old or (old.shape is Shape.MEMORY and new == LogLine(old.turn, Shape.ERASED))
