"""Everything that can happen to a turn, in any order, to one store or to several that must answer alike.

After every step the promises of the design (section 3) are held against what was asked and answered, and in the end
whoever still owes something is given the time to do it: then nothing may be open.
"""

from collections.abc import Callable
from enum import Enum, auto
from itertools import count
from random import Random
from typing import NamedTuple, TypeVar

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.integration.memory.turn_life.promises import Promises
from tests.integration.memory.turn_life.vocabulary import Accepted, ProcessDied, Saying, Shape, TurnLife, View, WorkName
from tests.integration.memory.turn_life.workers import AGENT_STEPS, CURATOR_STEPS, Agent, Curator, Delivered

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

_STEPS_OF_AN_AGENT = max(AGENT_STEPS.values())
_IN_CURATION = _STEPS_OF_AN_AGENT + 2
"""The stage of a turn whose curator has claimed it and not written yet; before it: accepted, claimed, each step."""

Answer = TypeVar("Answer")


class Fate(Enum):
    """What becomes of a call to a store."""

    ANSWERED = auto()
    ANSWER_LOST = auto()
    """It is done, and its caller asks again because it does not know."""
    NEVER_DONE = auto()
    """The process died before the commit."""


class Said(NamedTuple):
    user: str
    session: str
    key: str
    saying: Saying
    by_tool: bool
    """The model saves it at once; else it is left to the curator."""


class TurnLifeMachine(RuleBasedStateMachine):
    stores: list[TurnLife]

    def begin_stores(self) -> list[TurnLife]:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.stores = self.begin_stores()
        self.names = count(1)
        self.steps = 0
        self.promises = Promises()
        self.seen: dict[str, View] = {}
        """What was last seen of each user."""
        self.sessions: list[tuple[str, str]] = []
        self.turns: dict[str, Said] = {}
        """Of users that were not erased since."""
        self.everything_said: dict[str, Said] = {}
        self.delivered: list[Delivered] = []
        self.workers: list[Agent | Curator] = []
        for user in USERS:
            self._open_session(user)

    @rule(seed=st.integers(0, 2**64 - 1))
    def something_happens(self, seed: int) -> None:
        """Drawn by weight and not by Hypothesis, which likes the same few things (and seeds) over and over; what it
        still does is to drop the steps that a failure does not need."""
        self.steps += 1
        random = Random(f"{seed}-{self.steps}")
        happenings: dict[Callable[[Random], None], float] = {
            self.a_turn_comes: 5,
            self.a_turn_is_submitted: 1,
            self.a_turn_is_submitted_again: 0.7,
            self.a_turn_is_cancelled: 0.6,
            self.a_session_is_ended: 0.3,
            self.a_fact_is_put: 0.5,
            self.a_fact_is_deleted: 1.5,
            self.the_memory_is_cleared: 0.8,
            self.the_user_is_erased: 0.15,
            self.events_are_received: 1.5,
            self.redis_is_wiped: 0.5,
            self.an_event_is_worked_on: 3,
            self.somebody_goes_on: 4,
            self.somebody_gives_back: 1.5,
            self.an_agent_fails: 1,
            self.an_agent_renews: 0.5,
            self.a_stranger_asks: 0.3,
            self.an_operator_drives_again: 1,
            self.an_operator_discards: 0.5,
            self.a_replay_is_started: 0.7,
            self.time_passes: 4,
        }
        happening = random.choices(list(happenings), list(happenings.values()))[0]
        note(happening.__name__)
        happening(random)

    # The user.

    def a_turn_comes(self, random: Random) -> None:
        self._come_to(random, random.choice([*range(_STEPS_OF_AN_AGENT + 4), _IN_CURATION]))

    def _come_to(self, random: Random, stages: int) -> None:
        """As far as some point, and stays there until somebody goes on with it."""
        turn = self._submit(random, new=random.random() < 0.5)
        if turn is None:
            return
        self._receive()
        agent = self._take(Delivered(self.turns[turn].user, WorkName(WorkKind.TURN, turn))) if stages else None
        for _ in range(min(stages - 1, _STEPS_OF_AN_AGENT) if agent else 0):
            self._go_on(agent)
        if stages >= _IN_CURATION:
            self._receive()
            curator = self._take(Delivered(self.turns[turn].user, WorkName(WorkKind.CURATE_TURN, turn)))
            if stages > _IN_CURATION:
                self._go_on(curator)

    def a_turn_is_submitted(self, random: Random) -> None:
        """The gateway may die before it publishes."""
        self._submit(random, _any_fate(random), new=random.random() < 0.3, heard=random.random() < 0.5)

    def a_turn_is_submitted_again(self, random: Random) -> None:
        """With its key; with other words that is refused."""
        if not self.turns:
            return
        name = random.choice(sorted(self.turns))
        user, session, key, said, _ = self.turns[name]
        saying = random.choice([said, *SAYINGS])
        answer = self._ask(lambda store: store.submit(user, session, key, saying, f"{name}-again"))
        if isinstance(answer, Accepted):
            self.promises.accepted_again(user, name, answer.turn)
            assert answer.turn == name
            assert saying == said

    def a_turn_is_cancelled(self, random: Random) -> None:
        if self.turns:
            turn = random.choice(sorted(self.turns)[-3:])
            user = self.turns[turn].user
            self._ask(lambda store: store.cancel(user, turn), _any_fate(random), repeatable=True)

    def a_session_is_ended(self, random: Random) -> None:
        user, session = random.choice(self.sessions)
        self._ask(lambda store: store.end_session(user, session), _any_fate(random), repeatable=True)

    def a_fact_is_put(self, random: Random) -> None:
        user, saying = random.choice(USERS), random.choice(SAYINGS)
        self._ask(lambda store: store.put(user, saying))

    def a_fact_is_deleted(self, random: Random) -> None:
        user, fate = random.choice(USERS), _any_fate(random)
        known = sorted(self.seen[user].facts)
        key = random.choice(known or KEYS)
        answer = self._ask(lambda store: store.delete(user, key), fate, repeatable=bool(known))
        if not isinstance(answer, ProblemCode) and known and fate is not Fate.NEVER_DONE:
            self.promises.deleted(user, key, self._view(user).seq)

    def the_memory_is_cleared(self, random: Random) -> None:
        """Most of all while somebody is at work, who does not know of it and goes on."""
        if random.random() < 0.6:
            self._come_to(random, random.choice([*range(1, _STEPS_OF_AN_AGENT), _IN_CURATION, _IN_CURATION]))
        working = self._holding()
        user = random.choice([each.user for each in working] or USERS)
        fate, request = _any_fate(random), self._new("clear")
        self._ask(lambda store: store.clear(user, request), fate, repeatable=True)
        if fate is not Fate.NEVER_DONE:
            self.promises.cleared(user)
        for worker in working:
            self._go_on(worker)

    def the_user_is_erased(self, random: Random) -> None:
        user, fate, request = random.choice(USERS), _any_fate(random), self._new("erase")
        self._ask(lambda store: store.erase(user, request), fate, repeatable=True)
        if fate is not Fate.NEVER_DONE:
            self.promises.erased(user)
            view = self._view(user)
            assert view == View(view.seq, view.generation)
            self.turns = {name: each for name, each in self.turns.items() if each.user != user}
            self._open_session(user)

    # Events.

    def events_are_received(self, _: Random) -> None:
        self._receive()

    def redis_is_wiped(self, _: Random) -> None:
        for store in self.stores:
            store.wipe_redis()

    def an_event_is_worked_on(self, random: Random) -> None:
        """Also one that was worked on before, in any order."""
        if self.delivered:
            self._take(random.choice(self.delivered[-8:]), _any_fate(random))

    # Workers.

    def somebody_goes_on(self, random: Random) -> None:
        """Until it dies; one that was thought dead too."""
        if self.workers:
            worker, point = random.choice(self.workers[-5:]), random.choice([*AGENT_STEPS, *CURATOR_STEPS])
            self._go_on(worker, _any_fate(random))
            for _ in range({**AGENT_STEPS, **CURATOR_STEPS}[point]):
                self._go_on(worker)

    def somebody_gives_back(self, random: Random) -> None:
        """A failure spends an attempt; a shutdown, or a dependency that is down, spends none."""
        if not self.workers:
            return
        worker = random.choice(self._holding() or self.workers[-3:])
        spend, retry_in = random.random() < 0.7, random.choice([0, 10])
        if isinstance(worker, Agent):
            agent = worker
            self._ask(
                lambda store: store.give_back(agent.user, agent.turn, agent.token, spend=spend, retry_in=retry_in)
            )
        else:
            curator = worker
            self._ask(
                lambda store: store.fail_curation(curator.user, curator.turn, curator.run, curator.token, spend=spend)
            )

    def an_agent_fails(self, random: Random) -> None:
        agents = [each for each in self._holding() or self.workers[-3:] if isinstance(each, Agent)]
        if agents:
            self._finish(random.choice(agents), _any_fate(random), failed=True)

    def an_agent_renews(self, random: Random) -> None:
        agents = [each for each in self._holding() or self.workers[-3:] if isinstance(each, Agent)]
        if agents:
            agent = random.choice(agents)
            self._ask(
                lambda store: store.renew(agent.user, agent.turn, agent.token), _any_fate(random), repeatable=True
            )

    def a_stranger_asks(self, random: Random) -> None:
        if not self.turns:
            return
        turn, token = random.choice(sorted(self.turns)), self._new("token")
        stranger = next(each for each in USERS if each != self.turns[turn].user)
        asked: list[Callable[[TurnLife], object]] = [
            lambda store: store.claim(stranger, turn, token),
            lambda store: store.cancel(stranger, turn),
            lambda store: store.append(stranger, turn, token, 0, []),
            lambda store: store.claim_curation(stranger, turn, 0, token),
        ]
        for what in asked:
            assert self._ask(what) is ProblemCode.NOT_FOUND

    # Operators, the service's own beats, and time.

    def an_operator_drives_again(self, random: Random) -> None:
        """Dead work, if there is any."""
        states = {work: state for view in self.seen.values() for work, (state, _) in view.work.items()}
        dead = [work for work, state in states.items() if state in (WorkState.DEAD, WorkState.DISCARDED)]
        work, fate = random.choice(dead or self._work() or [None]), _any_fate(random)
        if work is not None:
            answer = self._ask(lambda store: store.redrive(work), fate)
            if answer is None and fate is not Fate.NEVER_DONE:
                self.promises.driven_again(work)

    def an_operator_discards(self, random: Random) -> None:
        if works := self._work():
            work = random.choice(works)
            self._ask(lambda store: store.discard(work), _any_fate(random))

    def a_replay_is_started(self, random: Random) -> None:
        job, user, dry_run = self._new("job"), random.choice(USERS), random.random() < 0.3
        self._ask(lambda store: store.start_replay(job, user, dry_run=dry_run))
        if random.random() < 0.7:
            self._beat(PAUSES[0], dies=random.random() < 0.3)
            self._receive()

    def time_passes(self, random: Random) -> None:
        self._beat(random.choice(PAUSES), dies=random.random() < 0.3)

    # What must hold.

    @invariant()
    def every_promise_is_kept(self) -> None:
        if hasattr(self, "seen"):
            for user in USERS:
                self.seen[user] = self._view(user)
                self.promises.hold(user, self.seen[user])

    def teardown(self) -> None:
        """From now on nobody dies any more: whatever was accepted comes to an end, and once."""
        if not hasattr(self, "seen"):
            return
        self.every_promise_is_kept()
        for _ in range(_ROUNDS):
            self._beat(61, dies=False)
            self._receive()
            for event in self.delivered[:]:
                worker = self._take(event) if self._is_open(event.work) else None
                for _ in range(5 if worker else 0):
                    self._go_on(worker)
            self.every_promise_is_kept()
            if not any(self._is_open(work) for view in self.seen.values() for work in view.work):
                break
        for view in self.seen.values():
            self.promises.hold_when_settled(view)

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
        if not isinstance(answers[0], View):
            note(f"  {answers[0]}")
        assert all(each == answers[0] for each in answers), f"the stores disagree: {answers}"
        return answers[0]

    def _view(self, user: str) -> View:
        view = self._alike(lambda store: store.view(user))
        assert not isinstance(view, ProblemCode)
        return view

    def _work(self) -> list[WorkName]:
        """Of turns, and of what follows them."""
        return sorted(
            work for view in self.seen.values() for work in view.work if work.kind is not WorkKind.CLOSE_SESSION
        )

    def _holding(self) -> list[Agent | Curator]:
        """Those from whom nobody has taken their work yet."""
        return [each for each in self.workers if self.promises.holds(each.work, each.token)]

    def _is_open(self, work: WorkName) -> bool:
        states = (view.work[work][0] for view in self.seen.values() if work in view.work)
        return any(state in (WorkState.PENDING, WorkState.LEASED) for state in states)

    def _open_session(self, user: str) -> str:
        session = self._new("session")
        self._ask(lambda store: store.open_session(user, session))
        self.sessions.append((user, session))
        return session

    def _submit(self, random: Random, fate: Fate = Fate.ANSWERED, *, new: bool, heard: bool = True) -> str | None:
        user, saying = random.choice(USERS), random.choice(SAYINGS)
        session = self._open_session(user) if new else [name for owner, name in self.sessions if owner == user][-1]
        turn, key = self._new("turn"), self._new("key")
        answer = self._ask(lambda store: store.submit(user, session, key, saying, turn), fate, repeatable=True)
        if not isinstance(answer, Accepted):
            return None
        self.promises.accepted(user, session, answer)
        self.turns[turn] = self.everything_said[turn] = Said(user, session, key, saying, random.random() < 0.5)
        if heard:
            self._publish(user, WorkName(WorkKind.TURN, turn))
        return turn

    def _publish(self, user: str, work: WorkName) -> None:
        for store in self.stores:
            store.publish(user, work)

    def _receive(self) -> None:
        events = self._alike(lambda store: store.receive())
        assert not isinstance(events, ProblemCode)
        for work in events:
            owners = {session: user for user, session in self.sessions}
            user = (
                owners[work.subject] if work.kind is WorkKind.CLOSE_SESSION else self.everything_said[work.subject].user
            )
            self.delivered.append(Delivered(user, work))

    def _take(self, event: Delivered, fate: Fate = Fate.ANSWERED) -> Agent | Curator | None:
        user, (kind, subject, run), token = event.user, event.work, self._new("token")
        if kind is WorkKind.CLOSE_SESSION:
            self._ask(lambda store: store.finish_closing(user, subject), fate, repeatable=True)
            return None
        said = self.everything_said[subject]
        worker: Agent | Curator
        if kind is WorkKind.TURN:
            claimed = self._ask(lambda store: store.claim(user, subject, token), fate, repeatable=True)
            if claimed is None or isinstance(claimed, ProblemCode):
                return None
            worker = Agent.that_claimed(user, subject, token, said.saying if said.by_tool else None, claimed)
        else:
            attempt = self._ask(lambda store: store.claim_curation(user, subject, run, token), fate, repeatable=True)
            if attempt is None or isinstance(attempt, ProblemCode):
                return None
            worker = Curator(user, subject, run, token, said.saying)
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
        elif agent.last is Shape.CALL and agent.saying is not None and not agent.saved:
            self._save(agent, agent.saying, fate)
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

    def _save(self, agent: Agent, saying: Saying, fate: Fate) -> None:
        before = self._view(agent.user).facts
        action = self._ask(
            lambda store: store.save(agent.user, agent.turn, agent.token, agent.call, saying),
            fate,
            repeatable=True,
        )
        if action is not None and not isinstance(action, ProblemCode):
            self.promises.wrote(agent.user, agent.turn, agent.token)
            self.promises.told(saying, action, before, self._view(agent.user).facts)
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
                self.promises.told(curator.saying, actions[0], before, self._view(curator.user).facts)

    def _beat(self, seconds: int, *, dies: bool) -> None:
        for store in self.stores:
            store.advance(seconds)
        for beat in (lambda store: store.sweep(dies=dies), lambda store: store.replay_beat(dies=dies)):
            died = {_dies(store, beat) for store in self.stores}
            assert len(died) == 1, "one of the stores died"


def _any_fate(random: Random) -> Fate:
    return random.choices([Fate.ANSWERED, Fate.ANSWER_LOST, Fate.NEVER_DONE], [5, 2, 1])[0]


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
