"""Accepting a turn: first the memory service stores it, then the agents are told."""

from common.crash_points import CrashPoint, CrashPoints
from common.logs import get_logger
from common.memory_api.operations import ACCEPT_TURN
from common.memory_api.turns import AcceptTurn, TurnReference, TurnStatus
from gateway.limits.backlog import Backlog
from gateway.limits.turn_rate import TurnRate
from gateway.memory_service import MemoryService
from gateway.turns.announcement import TurnAnnouncer

_log = get_logger(__name__)


class TurnAcceptance:
    def __init__(
        self,
        memory: MemoryService,
        announcer: TurnAnnouncer,
        rate: TurnRate,
        backlog: Backlog,
        crash_points: CrashPoints,
    ) -> None:
        self._memory = memory
        self._rate = rate
        self._backlog = backlog
        self._announcer = announcer
        self._crash_points = crash_points

    async def accept(self, request: AcceptTurn) -> TurnReference:
        """Returns the turn of this idempotency key, new or not. Raises ProblemError."""
        await self._backlog.must_be_short()
        await self._rate.count(request.owner)
        accepted = await self._memory.ask(ACCEPT_TURN, request)
        turn = accepted.turn
        _log.info("turn.accepted", turn_id=str(turn.turn_id), created=accepted.created)
        self._crash_points.reach(CrashPoint.GATEWAY_ACCEPTED)
        # A repeated request may be the repeat of one whose process died before it told anybody.
        if accepted.created or turn.status is TurnStatus.ACCEPTED:
            await self._announcer.announce(request.owner, turn)
        return turn
