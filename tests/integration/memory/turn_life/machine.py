"""Everything that can happen to a turn, in any order, to one store or to several that must answer alike.

After every step the promises of the design (section 3) are held against what was asked and answered, and in the end
whoever still owes something is given the time to do it: then nothing may be open.
"""

from collections.abc import Callable
from enum import Enum, auto
from itertools import count
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.integration.memory.turn_life.promises import Promises
from tests.integration.memory.turn_life.vocabulary import ProcessDied, Saying, Shape, TurnLife, View, WorkName
from tests.integration.memory.turn_life.workers import AGENT_STEPS, CURATOR_STEPS, Agent, Curator, Delivered

from common.crash_points import CrashPoint
from common.memory_api.dispatch import WorkKind, WorkState
from common.problems import ProblemCode, ProblemError

USERS = ("alice", "bob")
SAYINGS = (
    Saying("shoe_size", "鞋子要四十二码"),
    Saying("shoe_size", "鞋子要四十三码"),
    Saying("colour", "只穿深蓝色的外套"),
    Saying("colour", "只穿白色的外套"),
)
KEYS = ("shoe_size", "colour")
PAUSES = (1, 16, 61, 130)
"""Seconds: a breath, more than a lease, than the pause between two publishes, than a turn's deadline."""
_ROUNDS = 12
"""In which everything must have come to an end."""

Answer = TypeVar("Answer")


class Fate(Enum):
    """What becomes of a call to a store."""

    ANSWERED = auto()
    ANSWER_LOST = auto()
    """It is done, and its caller asks again because it does not know."""
    NEVER_DONE = auto()
    """The process died before the commit."""


class TurnLifeMachine(RuleBasedStateMachine):
    stores: list[TurnLife]

    def begin_stores(self) -> list[TurnLife]:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.stores = self.begin_stores()
        self.names = count(1)
        self.promises = Promises()
        self.sessions: list[tuple[str, str]] = []
        self.turns: dict[str, tuple[str, str, str, Saying]] = {}
        """User, session, key and saying of every turn that was ever accepted."""
        self.delivered: list[Delivered] = []
        self.workers: list[Agent | Curator] = []
        for user in USERS:
            self._open_session(user)

    # The user.

    @rule(user=st.sampled_from(USERS), saying=st.sampled_from(SAYINGS), fate=st.sampled_from(Fate), new=st.booleans())
    def a_turn_is_submitted(self, user: str, saying: Saying, fate: Fate, new: bool) -> None:
        self._submit(user, saying, fate, new=new, heard=True)

    @rule(user=st.sampled_from(USERS), saying=st.sampled_from(SAYINGS))
    def the_gateway_dies_before_it_publishes(self, user: str, saying: Saying) -> None:
        self._submit(user, saying, Fate.ANSWERED, new=True, heard=False)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), other=st.booleans())
    def a_turn_is_submitted_again(self, data: st.DataObject, other: bool) -> None:
        """With its key; with other words that is refused."""
        name = data.draw(st.sampled_from(sorted(self.turns)))
        user, session, key, saying = self.turns[name]
        saying = next(each for each in SAYINGS if each != saying) if other else saying
        answer = self._ask(lambda store: store.submit(user, session, key, saying, f"{name}-again"))
        if not isinstance(answer, ProblemCode):
            self.promises.accepted_again(user, name, answer.turn)
            self.turns[answer.turn] = (user, session, key, saying)

    @precondition(lambda self: self.turns)
    @rule(data=st.data(), fate=st.sampled_from(Fate))
    def a_turn_is_cancelled(self, data: st.DataObject, fate: Fate) -> None:
        turn = data.draw(st.sampled_from(sorted(self.turns)))
        user = self.turns[turn][0]
        self._ask(lambda store: store.cancel(user, turn), fate, repeatable=True)

    @rule(data=st.data(), fate=st.sampled_from(Fate))
    def a_session_is_ended(self, data: st.DataObject, fate: Fate) -> None:
        user, session = data.draw(st.sampled_from(self.sessions))
        self._ask(lambda store: store.end_session(user, session), fate, repeatable=True)

    @rule(user=st.sampled_from(USERS), saying=st.sampled_from(SAYINGS))
    def a_fact_is_put(self, user: str, saying: Saying) -> None:
        self._ask(lambda store: store.put(user, saying))
        self.promises.put(user, saying)

    @rule(user=st.sampled_from(USERS), key=st.sampled_from(KEYS), fate=st.sampled_from(Fate))
    def a_fact_is_deleted(self, user: str, key: str, fate: Fate) -> None:
        known = key in self._view(user).facts
        answer = self._ask(lambda store: store.delete(user, key), fate, repeatable=known)
        if not isinstance(answer, ProblemCode) and known and fate is not Fate.NEVER_DONE:
            self.promises.deleted(user, key, self._view(user).seq)

    @rule(user=st.sampled_from(USERS), fate=st.sampled_from(Fate))
    def the_memory_is_cleared(self, user: str, fate: Fate) -> None:
        request = self._new("clear")
        self._ask(lambda store: store.clear(user, request), fate, repeatable=True)
        if fate is not Fate.NEVER_DONE:
            self.promises.cleared(user)

    @rule(user=st.sampled_from(USERS), fate=st.sampled_from(Fate), sure=st.integers(0, 2))
    def the_user_is_erased(self, user: str, fate: Fate, sure: int) -> None:
        if sure:  # else there would be little left to look at
            return
        request = self._new("erase")
        self._ask(lambda store: store.erase(user, request), fate, repeatable=True)
        if fate is not Fate.NEVER_DONE:
            self.promises.erased(user)
            assert not self._view(user).turns
            assert not self._view(user).work
            self._open_session(user)

    # Events.

    @rule()
    def events_are_received(self) -> None:
        self._receive()

    @rule()
    def redis_is_wiped(self) -> None:
        for store in self.stores:
            store.wipe_redis()

    @precondition(lambda self: self.delivered)
    @rule(data=st.data(), fate=st.sampled_from(Fate))
    def an_event_is_worked_on(self, data: st.DataObject, fate: Fate) -> None:
        """Also one that was worked on before, in any order."""
        self._take(data.draw(st.sampled_from(self.delivered)), fate)

    @precondition(lambda self: self.delivered)
    @rule(steps=st.sampled_from([*AGENT_STEPS.values()]))
    def the_newest_event_is_worked_on(self, steps: int) -> None:
        worker = self._take(self.delivered[-1])
        for _ in range(steps if worker else 0):
            self._go_on(worker)

    # Workers.

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), fate=st.sampled_from(Fate), point=st.sampled_from([*AGENT_STEPS, *CURATOR_STEPS]))
    def somebody_goes_on(self, data: st.DataObject, fate: Fate, point: CrashPoint) -> None:
        """Until it dies; one that was thought dead too."""
        worker = data.draw(st.sampled_from(self.workers[-6:]))
        for step in range(max(1, {**AGENT_STEPS, **CURATOR_STEPS}[point])):
            self._go_on(worker, fate if step == 0 else Fate.ANSWERED)

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), spend=st.booleans(), retry_in=st.sampled_from([0, 10]))
    def somebody_gives_back(self, data: st.DataObject, spend: bool, retry_in: int) -> None:
        """A failure spends an attempt; a shutdown, or a dependency that is down, spends none."""
        worker = data.draw(st.sampled_from(self.workers[-6:]))
        if isinstance(worker, Agent):
            self._ask(
                lambda store: store.give_back(worker.user, worker.turn, worker.token, spend=spend, retry_in=retry_in)
            )
        else:
            self._ask(
                lambda store: store.fail_curation(worker.user, worker.turn, worker.run, worker.token, spend=spend)
            )

    @precondition(lambda self: any(isinstance(each, Agent) for each in self.workers))
    @rule(data=st.data(), fate=st.sampled_from(Fate), renews=st.booleans())
    def an_agent_fails_or_renews(self, data: st.DataObject, fate: Fate, renews: bool) -> None:
        agents = [each for each in self.workers if isinstance(each, Agent)]
        agent = data.draw(st.sampled_from(agents[-4:]))
        if renews:
            self._ask(lambda store: store.renew(agent.user, agent.turn, agent.token), fate, repeatable=True)
        else:
            self._finish(agent, fate, failed=True)

    @precondition(lambda self: self.turns)
    @rule(data=st.data())
    def a_stranger_asks(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(sorted(self.turns)))
        stranger = next(each for each in USERS if each != self.turns[turn][0])
        token = self._new("token")
        asked: list[Callable[[TurnLife], object]] = [
            lambda store: store.claim(stranger, turn, token),
            lambda store: store.cancel(stranger, turn),
            lambda store: store.append(stranger, turn, token, 0, []),
            lambda store: store.claim_curation(stranger, turn, 0, token),
        ]
        for what in asked:
            assert self._ask(what) is ProblemCode.NOT_FOUND

    # Operators, the service's own beats, and time.

    @precondition(lambda self: self._all_work())
    @rule(data=st.data(), again=st.booleans(), fate=st.sampled_from(Fate))
    def an_operator_acts(self, data: st.DataObject, again: bool, fate: Fate) -> None:
        work = data.draw(st.sampled_from(self._all_work(newest_first=again)))
        if again:
            answer = self._ask(lambda store: store.redrive(work), fate)
            if answer is None and fate is not Fate.NEVER_DONE:
                self.promises.driven_again(work)
        else:
            self._ask(lambda store: store.discard(work), fate)

    @rule(user=st.sampled_from(USERS), dry_run=st.booleans())
    def a_replay_is_started(self, user: str, dry_run: bool) -> None:
        job = self._new("job")
        self._ask(lambda store: store.start_replay(job, user, dry_run=dry_run))

    @rule(seconds=st.sampled_from(PAUSES), dies=st.booleans())
    def time_passes(self, seconds: int, dies: bool) -> None:
        self._beat(seconds, dies=dies)

    # What must hold.

    @invariant()
    def every_promise_is_kept(self) -> None:
        if hasattr(self, "promises"):
            for user in USERS:
                self.promises.hold(user, self._view(user))

    def teardown(self) -> None:
        """From now on nobody dies any more: whatever was accepted comes to an end, and once."""
        if not hasattr(self, "promises"):
            return
        for _ in range(_ROUNDS):
            self._beat(61, dies=False)
            self._receive()
            for event in self.delivered[:]:
                if self._is_open(event):
                    worker = self._take(event)
                    for _ in range(5 if worker else 0):
                        self._go_on(worker)
            self._receive()
            self.every_promise_is_kept()
            if not any(self._is_open(Delivered("", work)) for work in self._all_work()):
                break
        for user in USERS:
            self.promises.hold_when_settled(user, self._view(user))

    # How.

    def _new(self, kind: str) -> str:
        return f"{kind}-{next(self.names)}"

    def _ask(
        self, what: Callable[[TurnLife], Answer], fate: Fate = Fate.ANSWERED, *, repeatable: bool = False
    ) -> Answer | ProblemCode | None:
        """What every store answers; None where nobody did. A `repeatable` call says the same when it is asked again."""
        if fate is Fate.NEVER_DONE:
            for store in self.stores:
                _undone(store, what)
            return None
        answer = self._alike(what)
        if fate is Fate.ANSWER_LOST:
            again = self._alike(what)
            assert not repeatable or isinstance(answer, ProblemCode) or again == answer, "done twice"
        return answer

    def _alike(self, what: Callable[[TurnLife], Answer]) -> Answer | ProblemCode:
        answers = [_answer(store, what) for store in self.stores]
        assert all(each == answers[0] for each in answers), f"the stores disagree: {answers}"
        return answers[0]

    def _view(self, user: str) -> View:
        view = self._alike(lambda store: store.view(user))
        assert not isinstance(view, ProblemCode)
        return view

    def _all_work(self, *, newest_first: bool = False) -> list[WorkName]:
        """Of turns, and of what follows them; `newest_first` puts what has died at the front."""
        if not hasattr(self, "promises"):
            return []
        found = {work: state for user in USERS for work, (state, _) in self._view(user).work.items()}
        found = {work: state for work, state in found.items() if work.kind is not WorkKind.CLOSE_SESSION}
        dead = (WorkState.DEAD, WorkState.DISCARDED)
        return sorted(found, key=lambda work: (newest_first and found[work] not in dead, work))

    def _is_open(self, event: Delivered) -> bool:
        states = {work: state for user in USERS for work, (state, _) in self._view(user).work.items()}
        return states.get(event.work) in (WorkState.PENDING, WorkState.LEASED)

    def _open_session(self, user: str) -> str:
        session = self._new("session")
        self._ask(lambda store: store.open_session(user, session))
        self.sessions.append((user, session))
        return session

    def _submit(self, user: str, saying: Saying, fate: Fate, *, new: bool, heard: bool) -> None:
        session = self._open_session(user) if new else [name for owner, name in self.sessions if owner == user][-1]
        turn, key = self._new("turn"), self._new("key")
        answer = self._ask(lambda store: store.submit(user, session, key, saying, turn), fate, repeatable=True)
        if answer is None or isinstance(answer, ProblemCode):
            return
        self.promises.accepted(user, session, answer)
        self.turns[answer.turn] = (user, session, key, saying)
        if heard:
            self._publish(user, WorkName(WorkKind.TURN, answer.turn))

    def _publish(self, user: str, work: WorkName) -> None:
        for store in self.stores:
            store.publish(user, work)

    def _receive(self) -> None:
        events = self._alike(lambda store: store.receive())
        assert not isinstance(events, ProblemCode)
        for work in events:
            owners = {session: user for user, session in self.sessions}
            user = owners[work.subject] if work.kind is WorkKind.CLOSE_SESSION else self.turns[work.subject][0]
            self.delivered.append(Delivered(user, work))

    def _take(self, event: Delivered, fate: Fate = Fate.ANSWERED) -> Agent | Curator | None:
        user, (kind, subject, run), token = event.user, event.work, self._new("token")
        if kind is WorkKind.CLOSE_SESSION:
            self._ask(lambda store: store.finish_closing(user, subject), fate, repeatable=True)
            return None
        saying = self.turns[subject][3]
        worker: Agent | Curator
        if kind is WorkKind.TURN:
            claimed = self._ask(lambda store: store.claim(user, subject, token), fate, repeatable=True)
            if claimed is None or isinstance(claimed, ProblemCode):
                return None
            worker = Agent.that_claimed(user, subject, token, saying, claimed)
        else:
            attempt = self._ask(lambda store: store.claim_curation(user, subject, run, token), fate, repeatable=True)
            if attempt is None or isinstance(attempt, ProblemCode):
                return None
            worker = Curator(user, subject, run, token, saying)
        self.promises.claimed(event.work, token)
        self.workers.append(worker)
        return worker

    def _go_on(self, worker: Agent | Curator | None, fate: Fate = Fate.ANSWERED) -> None:
        if isinstance(worker, Curator):
            self._ingest(worker, fate)
        elif worker is not None:
            self._next_step(worker, fate)

    def _next_step(self, agent: Agent, fate: Fate) -> None:
        """Store the answer with its call, do what was called, store the result, finish."""
        if agent.last is Shape.RESULT:
            self._finish(agent, fate, failed=False)
        elif agent.last is Shape.CALL and not agent.saved:
            self._save(agent, fate)
        else:
            entries = agent.next_entries()
            head = self._ask(
                lambda store: store.append(agent.user, agent.turn, agent.token, agent.head, entries),
                fate,
                repeatable=True,
            )
            if isinstance(head, int):
                self.promises.wrote(agent.user, agent.turn, agent.token)
                agent.appended(entries, head)

    def _save(self, agent: Agent, fate: Fate) -> None:
        action = self._ask(
            lambda store: store.save(agent.user, agent.turn, agent.token, agent.call, agent.saying),
            fate,
            repeatable=True,
        )
        if action is not None and not isinstance(action, ProblemCode):
            self.promises.wrote(agent.user, agent.turn, agent.token)
            self.promises.told(agent.saying, action, self._view(agent.user))
            agent.saved = True

    def _finish(self, agent: Agent, fate: Fate, *, failed: bool) -> None:
        entries = [] if failed else agent.next_entries()
        status = self._ask(
            lambda store: store.finish(agent.user, agent.turn, agent.token, agent.head, entries, failed=failed),
            fate,
            repeatable=True,
        )
        if status is not None and not isinstance(status, ProblemCode):
            self.promises.finished(agent.turn, agent.token)
            self._publish(agent.user, WorkName(WorkKind.CURATE_TURN, agent.turn))

    def _ingest(self, curator: Curator, fate: Fate) -> None:
        before = self._view(curator.user).facts
        actions = self._ask(
            lambda store: store.ingest(curator.user, curator.turn, curator.run, curator.token, [curator.saying]),
            fate,
            repeatable=True,
        )
        if actions is not None and not isinstance(actions, ProblemCode):
            self.promises.ingested(WorkName(WorkKind.CURATE_TURN, curator.turn, curator.run), curator.token)
            if actions:
                self.promises.told(curator.saying, actions[0], self._view(curator.user), unless=before)

    def _beat(self, seconds: int, *, dies: bool) -> None:
        for store in self.stores:
            store.advance(seconds)
        for beat in (lambda store: store.sweep(dies=dies), lambda store: store.replay_beat(dies=dies)):
            died = {_dies(store, beat) for store in self.stores}
            assert len(died) == 1, "one of the stores died"


def _answer(store: TurnLife, what: Callable[[TurnLife], Answer]) -> Answer | ProblemCode:
    try:
        return what(store)
    except ProblemError as error:
        return error.code


def _undone(store: TurnLife, what: Callable[[TurnLife], object]) -> None:
    try:
        with store.dying_before_commit():
            _answer(store, what)
    except ProcessDied:
        return


def _dies(store: TurnLife, beat: Callable[[TurnLife], None]) -> bool:
    try:
        beat(store)
    except ProcessDied:
        return True
    return False
