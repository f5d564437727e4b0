"""Keeping a lease: renewed while the turn is worked on; once it is lost, nothing may be written any more."""

import asyncio
from typing import Literal

from agent.turns.leased_turn import LeasedTurn
from common.clock import Clock
from common.logs import get_logger
from common.memory_api.client import MemoryUnavailable
from common.problems import ProblemError

_log = get_logger(__name__)


async def keep_lease(turn: LeasedTurn, lease_seconds: float, clock: Clock) -> Literal["refused", "expired"]:
    """Renew every third of the lease; returns when the lease is lost: because memory said so, or by the time.

    While memory does not answer, the lease counts as held until its end as we know it, counted from the moment
    before the last renewal was sent.
    """
    held_until = clock.monotonic() + lease_seconds
    while True:
        interval = lease_seconds / 3
        await clock.sleep(min(interval, max(0.0, held_until - clock.monotonic())))
        asked_at = clock.monotonic()
        if asked_at >= held_until:
            _log.warning("lease.expired")
            return "expired"
        try:
            async with asyncio.timeout(held_until - asked_at):
                lease = await turn.renew(retry_for=interval)
        except ProblemError as problem:
            _log.info("lease.lost", code=problem.code)
            return "refused"
        except (MemoryUnavailable, TimeoutError):
            _log.warning("lease.not_renewed")
            continue
        lease_seconds = lease.lease_seconds
        held_until = asked_at + lease_seconds
