"""Follows one turn for one client: the stream while it tells everything, the memory service where it does not."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from redis.exceptions import RedisError

from common.clock import Clock
from common.logs import get_logger
from common.memory_api.base import Owner, TurnRequest
from common.memory_api.operations import GET_TURN
from common.memory_api.turns import TurnView
from common.problems import ProblemCode, ProblemError
from common.telemetry.metrics import Metrics
from common.telemetry.table import EVENT_STREAMS_OPEN
from gateway.events.delivery import Delivery, Verdict
from gateway.events.entry import EntryId, ProgressEntry
from gateway.events.format import HEARTBEAT, ServerEvent, format_event, format_retry
from gateway.events.reader import ProgressReader
from gateway.events.view import (
    curation_settled,
    ending_of,
    event_of,
    memory_update_of,
    progress_of,
    snapshot_of,
)
from gateway.events.watch import Signal, Watch
from gateway.memory_service import MemoryService

RETRY_MILLISECONDS = 1_000
_MEMORY_RETRY_SECONDS = 1.0
_OUTAGE_SPREAD_SECONDS = 1.0
"""All watched turns lose Redis at once; their questions to the memory service are spread over this time."""

_log = get_logger(__name__)


@dataclass(frozen=True)
class FollowTiming:
    """Seconds; see the settings of the same names."""

    silence: float
    heartbeat: float
    after_end: float
    curation_check: float


class TurnFollower:
    """What the connections of a process share."""

    def __init__(
        self,
        memory: MemoryService,
        reader: ProgressReader,
        clock: Clock,
        timing: FollowTiming,
        jitter: Callable[[], float],
        metrics: Metrics,
    ) -> None:
        self.memory = memory
        self.reader = reader
        self.clock = clock
        self.timing = timing
        self.jitter = jitter
        self._open = metrics.gauge(EVENT_STREAMS_OPEN)

    async def follow(
        self, owner: Owner, view: TurnView, resume_after: EntryId | None, seconds: float
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of an event stream of at most `seconds`. `view` is the turn as the memory service just told it."""
        with self._open.track_inprogress():
            async with aclosing(_Connection(self, owner, view, resume_after, seconds).run()) as chunks:
                async for chunk in chunks:
                    yield chunk


class _Connection:
    def __init__(
        self, shared: TurnFollower, owner: Owner, view: TurnView, resume_after: EntryId | None, seconds: float
    ) -> None:
        self._shared = shared
        self._now = shared.clock.monotonic
        self._request = TurnRequest(owner=owner, turn_id=view.turn_id)
        self._resume_after = resume_after
        self._delivery = Delivery(resume_after, anchored=resume_after is None)
        self._known = view
        self._quiet_since_known = True
        self._snapshot_owed = False
        self._closes_at = self._now() + seconds
        self._end_noted = False
        self._check_at = 0.0
        self._schedule_check()

    async def run(self) -> AsyncGenerator[bytes, None]:
        yield format_retry(RETRY_MILLISECONDS + int(self._shared.jitter() * RETRY_MILLISECONDS))
        history_read = True
        try:
            await self._anchor()
            async for entry in self._shared.reader.history(self._request.turn_id):
                for event in await self._on_entry(entry):
                    yield format_event(event)
        except (RedisError, OSError) as error:
            history_read = False
            _log.info("events.history_unreadable", turn_id=str(self._request.turn_id), error=error)
        for event in self._on_history_end(history_read):
            yield format_event(event)
        if not self._delivery.memory_told:
            async with aclosing(self._live()) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _anchor(self) -> None:
        """Find the client's last entry. Where it is gone, all that the stream holds is new to the client."""
        if self._resume_after is not None:
            if await self._shared.reader.holds(self._request.turn_id, self._resume_after):
                self._delivery = Delivery(self._resume_after)
            else:
                self._delivery = Delivery(anchored=False)

    async def _live(self) -> AsyncGenerator[bytes, None]:
        with self._shared.reader.watch(self._request.turn_id, self._delivery.position) as watch:
            heartbeat_at = self._now() + self._shared.timing.heartbeat
            while not self._delivery.memory_told and self._now() < self._closes_at:
                self._note_end()
                events = await self._next(watch, min(heartbeat_at, self._closes_at, self._check_at))
                if events is None:
                    return
                for event in events:
                    yield format_event(event)
                if not events and self._now() >= heartbeat_at:
                    yield HEARTBEAT
                if events or self._now() >= heartbeat_at:
                    heartbeat_at = self._now() + self._shared.timing.heartbeat

    async def _next(self, watch: Watch, until: float) -> list[ServerEvent] | None:
        """What to send after the next thing that happens; None when the connection is to end."""
        happened = await watch.next(until - self._now())
        if isinstance(happened, ProgressEntry):
            self._schedule_check()
            return await self._on_entry(happened)
        if happened in (Signal.TOO_SLOW, Signal.CLOSED):
            _log.info("events.ended", turn_id=str(self._request.turn_id), why=happened.name.lower())
            return None
        if happened is Signal.INTERRUPTED:
            spread = self._shared.jitter() * _OUTAGE_SPREAD_SECONDS
            self._check_at = min(self._check_at, self._now() + spread)
        elif self._now() >= self._check_at:
            self._schedule_check()
            return await self._on_silence()
        return []

    async def _on_entry(self, entry: ProgressEntry) -> list[ServerEvent]:
        verdict = self._delivery.receive(entry)
        if verdict is Verdict.DROP:
            return []
        self._quiet_since_known = False
        if verdict is Verdict.DELIVER:
            return [event_of(entry)]
        return await self._bridge(entry)

    async def _bridge(self, entry: ProgressEntry) -> list[ServerEvent]:
        """The state, because something before `entry` was lost; then `entry`, unless the state has overtaken it."""
        view = await self._ask()
        events = [] if view is None else [self._snapshot(view)]
        if view is None:
            self._snapshot_owed = True
        elif not (view.status.open or entry.ends_answer or self._delivery.ended):
            events.append(self._ending(view))
        if entry.tells_memory and not self._delivery.ended:
            return events  # it is told from the memory service, after the end
        if self._delivery.ended and not entry.tells_memory:
            return events + self._memory_update(view)
        self._delivery.told(entry)
        return [*events, event_of(entry)]

    def _on_history_end(self, history_read: bool) -> list[ServerEvent]:
        view, delivery = self._known, self._delivery
        if delivery.memory_told:
            return []
        untold = (delivery.nothing_told or not history_read) and not delivery.ended
        # A turn that has stored nothing has nothing to show yet; if its stream lost something, a gap will tell.
        moved_on = bool(view.steps) or not view.status.open
        events = [self._snapshot(view)] if not delivery.anchored or (untold and moved_on) else []
        return events + self._finished(view)

    async def _on_silence(self) -> list[ServerEvent]:
        before, quiet = self._known, self._quiet_since_known
        view = await self._ask()
        if view is None:
            return []
        delivery = self._delivery
        # What the stream has told since the last look explains a change; what it was silent about, it has lost.
        moved = quiet and progress_of(view) != progress_of(before)
        lost = not view.status.open or moved or view.attempt > delivery.attempt
        events = []
        if not delivery.ended and (lost or self._snapshot_owed):
            events.append(self._snapshot(view))
        return events + self._finished(view)

    def _finished(self, view: TurnView) -> list[ServerEvent]:
        """The end, and what the curation kept, as far as they are known and not told."""
        events = []
        if not view.status.open and not self._delivery.ended:
            events.append(self._ending(view))
        return events + self._memory_update(view)

    def _snapshot(self, view: TurnView) -> ServerEvent:
        self._delivery.snapshot_sent(view.attempt)
        self._snapshot_owed = False
        return snapshot_of(view)

    def _ending(self, view: TurnView) -> ServerEvent:
        self._delivery.told_end()
        return ending_of(view)

    def _memory_update(self, view: TurnView | None) -> list[ServerEvent]:
        delivery = self._delivery
        if view is None or not delivery.ended or delivery.memory_told or not curation_settled(view):
            return []
        delivery.told_memory()
        return [memory_update_of(view)]

    async def _ask(self) -> TurnView | None:
        """The turn as it is now; None when the memory service does not answer."""
        try:
            self._known = await self._shared.memory.ask(GET_TURN, self._request, retry_for=_MEMORY_RETRY_SECONDS)
        except ProblemError as error:
            _log.info("events.memory_silent", turn_id=str(self._request.turn_id), code=error.code)
            if error.code is ProblemCode.NOT_FOUND:  # its user has been erased: there is nothing to wait for
                self._closes_at = self._now()
            return None
        self._quiet_since_known = True
        return self._known

    def _note_end(self) -> None:
        """Once the answer has ended, the connection waits for the curation, but not for ever."""
        if self._delivery.ended and not self._end_noted:
            self._end_noted = True
            self._closes_at = min(self._closes_at, self._now() + self._shared.timing.after_end)
            self._schedule_check()

    def _schedule_check(self) -> None:
        timing = self._shared.timing
        pause = timing.curation_check if self._delivery.ended else timing.silence
        self._check_at = self._now() + pause
