"""What a storm has left behind: the promises as numbers, and which of them are broken."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any

import asyncpg
from redis.asyncio import Redis
from tests.chaos.storm.audit import noted_twice
from tests.chaos.storm.shoppers import TENANT, Ledger
from tests.chaos.storm.system import StormySystem
from tests.chaos.storm.texts import NOTE_KEY
from tests.support.memory_database import memory_database
from tests.support.readable_rows import places_of, read_rows

from common.memory_api.base import Owner
from common.memory_api.dispatch import CheckInvariants
from memory.dispatch.invariants import check_invariants

IDLE_SECONDS = 6.0
IDLE_VALKEY_COMMANDS = 150.0
IDLE_TRANSACTIONS = 150.0
"""Per second, over all replicas, when nobody wants anything: what sweeps, gauges and blocking reads need. A loop that
has lost its wait makes thousands."""
COMPLETED_SHARE = 0.95
"""Of the turns that their users did not take back."""

_SETTLE_SECONDS = 240.0


class Findings:
    def __init__(self, system: StormySystem, ledger: Ledger) -> None:
        self._system = system
        self._ledger = ledger
        self._database = memory_database(system.processes)

    async def close(self) -> None:
        await self._database.close()

    async def settled(self) -> Mapping[str, int]:
        """Wait until nothing is open; the violations that are left then, or in the end."""
        async with asyncio.timeout(_SETTLE_SECONDS + 60.0):
            violations: Mapping[str, int] = {}
            for _ in range(int(_SETTLE_SECONDS)):
                report = await check_invariants(self._database, CheckInvariants(settled=True))
                violations = {name: rows for name, rows in report.violations.items() if rows}
                if not violations:
                    break
                await asyncio.sleep(1.0)
            return violations

    async def numbers(self) -> dict[str, Any]:
        """What `make chaos` prints; violations of the invariants by name, where there are any."""
        violations = await self.settled()
        connection = await asyncpg.connect(self._system.processes.connections.database.admin)
        try:
            return {**await self._of_turns(connection), **await self._of_the_rest(connection, violations)}
        finally:
            await connection.close()

    async def idle_rates(self) -> dict[str, float]:
        """Commands and transactions per second while nobody wants anything."""
        before = await self._counters()
        await asyncio.sleep(IDLE_SECONDS)
        after = await self._counters()
        return {name: round((after[name] - before[name]) / IDLE_SECONDS, 1) for name in after}

    async def _of_turns(self, connection: Any) -> dict[str, Any]:
        rows = await connection.fetch("SELECT turn_id::text, status, failure FROM turns WHERE tenant_id = $1", TENANT)
        statuses = {row["turn_id"]: row["status"] for row in rows}
        accepted = set(self._ledger.accepted) | set(statuses)
        ended = Counter(statuses.values())
        missing = len(accepted - set(statuses)) + ended["accepted"] + ended["running"]
        curated = await connection.fetchval(
            "SELECT count(*) FROM turns t JOIN dispatch d ON d.subject_id = t.turn_id AND d.kind = 'curate_turn' "
            "WHERE t.tenant_id = $1 AND t.status = 'completed' AND d.state = 'done' AND d.run = 0",
            TENANT,
        )
        told_otherwise = [turn for turn, status in self._ledger.ended.items() if statuses.get(turn) != status]
        return {
            "accepted": len(accepted),
            "completed": ended["completed"],
            "failed_with_answer": ended["failed"],
            "cancelled": ended["cancelled"],
            "curated": curated,
            "lost": missing,
            "unknown_to_their_users": len(set(statuses) - set(self._ledger.accepted)),
            "duplicate_acceptances": len(self._ledger.accepted_twice),
            "ends_told_otherwise": len(told_otherwise) + len(self._ledger.ended_twice),
            "failures": dict(Counter(row["failure"] for row in rows if row["failure"])),
        }

    async def _of_the_rest(self, connection: Any, violations: Mapping[str, int]) -> dict[str, Any]:
        return {
            "duplicate_finishes": await noted_twice(connection, "finish"),
            "duplicate_curations": await noted_twice(connection, "curation"),
            "duplicate_effects": await noted_twice(connection, "fact", f"%/{NOTE_KEY}%"),
            "facts_written": await connection.fetchval("SELECT count(*) FROM storm_audit WHERE what = 'fact'"),
            "log_gaps": violations.get("log_with_gap", 0) + violations.get("log_out_of_turn_order", 0),
            "clears": len(self._ledger.cleared),
            "cleared_facts_back": await self._cleared_facts_back(connection),
            "violations": dict(violations),
        }

    async def _cleared_facts_back(self, connection: Any) -> int:
        """Users of whom a word that they cleared stands anywhere: in PostgreSQL, in Redis."""
        back = 0
        async with Redis.from_url(self._system.processes.redis_url) as redis:
            streams: Any = [await redis.xrange(key) async for key in redis.scan_iter(match="turn:*", count=1_000)]
        told = b"".join(value for entries in streams for _, fields in entries for value in fields.values())
        for user, canary in self._ledger.cleared.items():
            rows = await read_rows(connection, self._database, Owner(tenant_id=TENANT, user_id=user))
            back += bool(places_of(rows, canary)) or canary.encode() in told
        return back

    async def _counters(self) -> dict[str, float]:
        async with Redis.from_url(self._system.processes.redis_url) as redis:
            commands = (await redis.info("stats"))["total_commands_processed"]
        connection = await asyncpg.connect(self._system.processes.connections.database.admin)
        try:
            await connection.execute("SELECT pg_stat_clear_snapshot()")
            transactions = await connection.fetchval(
                "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
            )
        finally:
            await connection.close()
        return {"idle_valkey_commands_per_s": float(commands), "idle_transactions_per_s": float(transactions)}


def broken_promises(result: Mapping[str, Any]) -> list[str]:
    """What should not be: empty after every storm."""
    never = (
        *("lost", "unknown_to_their_users", "duplicate_acceptances", "ends_told_otherwise", "duplicate_finishes"),
        *("duplicate_curations", "duplicate_effects", "log_gaps", "cleared_facts_back", "violations"),
    )
    broken = [name for name in never if result[name]]
    ends = ("completed", "failed_with_answer", "cancelled")
    if result["accepted"] != sum(result[name] for name in ends):
        broken.append("accepted = completed + failed_with_answer + cancelled")
    if result["completed"] < COMPLETED_SHARE * (result["accepted"] - result["cancelled"]):
        broken.append(f"completed >= {COMPLETED_SHARE:.0%}")
    if result["curated"] != result["completed"]:
        broken.append("every completed turn is curated once")
    if result["idle_valkey_commands_per_s"] > IDLE_VALKEY_COMMANDS:
        broken.append("idle_valkey_commands_per_s")
    if result["idle_transactions_per_s"] > IDLE_TRANSACTIONS:
        broken.append("idle_transactions_per_s")
    return broken
