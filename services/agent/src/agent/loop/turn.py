"""A turn at work: what was claimed, the log as it grows, and where writes and progress go."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from agent.catalogue.terms import Language
from agent.context.messages import call_ids
from agent.context.probe import SentRequest
from agent.context.release import Release
from agent.context.rendering import Rendering, render_request
from agent.planner.plan import stored_constraints
from agent.progress.feed import ProgressFeed
from agent.session_constraints.constraints import SessionConstraints, read_session_constraints
from agent.tools.unsaved_facts import unsaved_facts
from agent.turns.leased_turn import LeasedTurn
from common.memory_api.facts import TurnFacts
from common.memory_api.sessions import LogEntry, NewLogEntry
from common.memory_api.turns import ClaimedTurn, FailureCode, ItemCard, ModelCall
from model_client.requests import ModelRequest

Result = TypeVar("Result")


@dataclass(frozen=True)
class Outcome:
    """How a turn ends: the answer, and the entries that are stored together with it."""

    reply: str
    items: list[ItemCard] = field(default_factory=list)
    entries: list[NewLogEntry] = field(default_factory=list)
    failure: FailureCode | None = None


class Turn:
    """The log only ever grows, and only by what memory has stored; `rendering` is what it makes of a request."""

    def __init__(
        self,
        claimed: ClaimedTurn,
        memory: LeasedTurn,
        progress: ProgressFeed,
        release: Release,
        language: Language,
        give_up_at: float,
    ) -> None:
        self.claimed = claimed
        self.memory = memory
        self.progress = progress
        self.release = release
        self.language = language
        self.give_up_at = give_up_at
        """When no new attempt of a model call may begin (monotonic seconds)."""
        self.log: list[LogEntry] = list(claimed.log)
        self.head = claimed.head
        self.model_calls = claimed.model_calls
        self.call_ids = call_ids(self.log)
        self._first = next((i for i, entry in enumerate(self.log) if entry.turn_id == claimed.turn_id), len(self.log))
        self.rendering, self.sent = _rendered(claimed, release)
        self.overflowed = False
        """Whether a request of this attempt was longer than the model's window."""
        self._known_facts: TurnFacts | None = None

    @property
    def entries(self) -> list[LogEntry]:
        """The entries of this turn: the last ones, since a session works on one turn at a time."""
        return self.log[self._first :]

    @property
    def session_constraints(self) -> SessionConstraints:
        """P_t: as this turn's plan left it, else as the turns before did."""
        shown = stored_constraints(self.entries)
        return read_session_constraints(self.claimed.session_constraints) if shown is None else shown

    async def known_facts(self) -> TurnFacts:
        """The user's facts, read when they are first needed and then kept: a turn works with one state of them."""
        if self._known_facts is None:
            self._known_facts = await self.memory.read_facts(unsaved_facts(self.log))
        return self._known_facts

    def request(self, model: str, *, appended: tuple[str, ...] = ()) -> ModelRequest:
        """The request for the next call. One session's calls go to one machine, where the provider can have it so."""
        key = self.claimed.session_id.hex
        return render_request(self.rendering, model, self.call_ids, cache_key=key, appended=appended)

    @property
    def first_position(self) -> int:
        """Where this turn begins in the log."""
        return self.log[self._first].position if self._first < len(self.log) else self.head + 1

    @property
    def earlier(self) -> list[LogEntry]:
        """The entries of the turns before."""
        return self.log[: self._first]

    def marked(self, entries: Sequence[NewLogEntry]) -> list[NewLogEntry]:
        """The entries with the mark that they bear memory, where they do.

        The rule: an entry bears memory when it shows some itself (memory block, recall, save_memory and its receipt,
        behaviour history), or when any entry before it in the session does. A model that has seen memory may quote
        it in every word, search, answer and summary that follows, and nobody can tell; so no later entry is exempt.
        """
        bears_memory = any(entry.bears_memory for entry in self.log)
        marked: list[NewLogEntry] = []
        for entry in entries:
            bears_memory = bears_memory or entry.bears_memory or bool(entry.memory_fact_ids)
            marked.append(entry.model_copy(update={"bears_memory": bears_memory}))
        return marked

    def entries_with(self, pending: Sequence[NewLogEntry]) -> list[LogEntry]:
        """The entries of this turn as they will be once `pending` is stored."""
        return [*self.entries, *self._placed(pending)]

    def rendering_with(self, pending: Sequence[NewLogEntry]) -> Rendering:
        """The request of the log as it will be once `pending` is stored."""
        return self.rendering.extended(self._placed(pending))

    async def append(self, entries: Sequence[NewLogEntry], model_call: ModelCall | None = None) -> None:
        """Store entries under the lease. Raises ProblemError where the turn is no longer ours.

        A write that has begun is seen to its end even when the turn is cancelled: else nobody would know the head.
        """
        session_begins = self.claimed.release is None and not self.log
        release_id = self.release.release_id if session_begins else None
        await see_through(self._append(self.marked(entries), model_call, release_id))

    async def _append(
        self, entries: Sequence[NewLogEntry], model_call: ModelCall | None, release_id: str | None
    ) -> None:
        placed = self._placed(entries)
        self.head = await self.memory.append(self.head, entries, model_call, release_id)
        self.log.extend(placed)
        self.rendering = self.rendering.extended(placed)
        self.call_ids |= call_ids(placed)
        if model_call is not None:
            self.model_calls += 1

    def _placed(self, entries: Sequence[NewLogEntry]) -> list[LogEntry]:
        return [
            LogEntry(**entry.model_dump(), position=self.head + offset, turn_id=self.claimed.turn_id)
            for offset, entry in enumerate(entries, start=1)
        ]


def _rendered(claimed: ClaimedTurn, release: Release) -> tuple[Rendering, SentRequest | None]:
    """The log's rendering, and on the way there the session's last main request, whichever process sent it."""
    call = claimed.previous_call
    if call is None or call.log_position is None:
        return Rendering.of(release, claimed.log), None
    before = [entry for entry in claimed.log if entry.position <= call.log_position]
    sent = Rendering.of(release, before)
    request = SentRequest(sent, call.layer_hashes, call.prompt_tokens)
    return sent.extended(claimed.log[len(before) :]), request


async def see_through(work: Coroutine[Any, Any, Result]) -> Result:
    """Await `work` to its end; a cancellation that comes meanwhile is raised after it."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        if not task.cancelled():
            task.exception()  # seen: the cancellation is what counts now
        raise
