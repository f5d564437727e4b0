"""The retention job: looks through every user's data about once a day and removes what has expired.

Several replicas may run it at once: each user is done under their lock, and whoever comes second finds it done.
"""

import asyncio
from collections.abc import Sequence

from sqlalchemy import or_, select

from common.clock import Clock
from common.logs import get_logger
from common.memory_api.base import Owner
from common.telemetry.metrics import Metrics
from common.telemetry.table import LAST_RETENTION, RETENTION_USERS
from memory.database.schema import users
from memory.database.transactions import Database
from memory.encryption.rotation import settle_keys
from memory.replay.forgetting import remove_old_replays
from memory.retention.expired import PAUSE, remove_what_expired

_log = get_logger(__name__)

_BATCH = 200


class RetentionJob:
    def __init__(self, database: Database, clock: Clock, interval_seconds: float, metrics: Metrics) -> None:
        self._database = database
        self._clock = clock
        self._interval = interval_seconds
        self._users = metrics.counter(RETENTION_USERS)
        self._last_round = metrics.gauge(LAST_RETENTION)

    async def run(self) -> None:
        """Look for ever, until cancelled."""
        while True:
            try:
                await self.run_round()
                self._last_round.set_to_current_time()
            except Exception as error:  # noqa: BLE001 - the edge: a failed round is tried again at the next beat
                _log.error("retention.failed", error=error)
            await asyncio.sleep(self._interval)

    async def run_round(self) -> None:
        """Everybody who is due, and old replays. One user whose data cannot be read does not stop the others."""
        failed: set[Owner] = set()
        while due := await self._due(skipping=len(failed)):
            for owner in due:
                try:
                    await self._look_through(owner)
                except Exception as error:  # noqa: BLE001 - the user stays due and is tried again in the next round
                    failed.add(owner)
                    _log.error("retention.user_failed", error=error)
                self._users.labels("failed" if owner in failed else "done").inc()
        if replays := await remove_old_replays(self._database):
            _log.info("retention.replays_removed", jobs=replays)

    async def _look_through(self, owner: Owner) -> None:
        async with self._database.of_user(owner) as tx:
            removed = await remove_what_expired(tx)
        await settle_keys(self._database, owner)
        if removed is not None and (removed.sessions or removed.candidates):
            _log.info("retention.removed", sessions=removed.sessions, candidates=removed.candidates)

    async def _due(self, *, skipping: int) -> Sequence[Owner]:
        """Users of all tenants, the longest waiting first, without those that stay due because they failed. Counters
        only: the role sees no words."""
        since = self._clock.now() - PAUSE
        query = (
            select(users.c.tenant_id, users.c.user_id)
            .where(or_(users.c.retained_at.is_(None), users.c.retained_at <= since))
            .order_by(users.c.retained_at.asc().nulls_first(), users.c.tenant_id, users.c.user_id)
            .limit(_BATCH)
            .offset(skipping)
        )
        async with self._database.of_dispatch() as connection:
            return [Owner(tenant_id=row.tenant_id, user_id=row.user_id) for row in await connection.execute(query)]
