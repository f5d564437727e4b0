"""The promises as queries: each counts the rows that break it. They run after every failure test, and for operators.

Rows with words are visible one user at a time, so the queries run user by user, over everyone there is.
"""

import json
from collections.abc import Mapping

from sqlalchemy import select, text

from common.memory_api.base import Owner
from common.memory_api.dispatch import CheckInvariants, InvariantReport
from memory.database.schema import users
from memory.database.transactions import Database, UserTransaction
from memory.sessions.log import ERASED_PAYLOAD, read_log
from memory.turns.closing import open_calls

_ALWAYS: Mapping[str, str] = {
    "turn_without_work_record": """
        SELECT count(*) FROM turns t WHERE NOT EXISTS (
            SELECT 1 FROM dispatch d WHERE d.kind = 'turn' AND d.subject_id = t.turn_id)""",
    "open_turn_with_closed_record": """
        SELECT count(*) FROM turns t JOIN dispatch d ON d.kind = 'turn' AND d.subject_id = t.turn_id
        WHERE t.status IN ('accepted', 'running') AND d.state NOT IN ('pending', 'leased')""",
    "ended_turn_with_open_record": """
        SELECT count(*) FROM turns t JOIN dispatch d ON d.kind = 'turn' AND d.subject_id = t.turn_id
        WHERE t.status IN ('completed', 'failed', 'cancelled') AND d.state IN ('pending', 'leased')""",
    "ended_turn_without_answer": """
        SELECT count(*) FROM turns WHERE status IN ('completed', 'failed', 'cancelled')
        AND (reply IS NULL OR finished_at IS NULL)""",
    "completed_turn_not_curated_once": """
        SELECT count(*) FROM turns t WHERE t.status = 'completed' AND :memory_enabled AND 1 <> (
            SELECT count(*) FROM dispatch d
            WHERE d.kind = 'curate_turn' AND d.subject_id = t.turn_id AND d.run = 0)""",
    "curation_of_open_turn": """
        SELECT count(*) FROM dispatch d JOIN turns t ON t.turn_id = d.subject_id
        WHERE d.kind = 'curate_turn' AND t.status NOT IN ('completed', 'failed')""",
    "log_with_gap": """
        SELECT count(*) FROM sessions s LEFT JOIN (
            SELECT session_id, count(*) AS entries, min(position) AS first, max(position) AS last
            FROM session_log GROUP BY session_id) l ON l.session_id = s.session_id
        WHERE s.head <> coalesce(l.entries, 0) OR s.head <> coalesce(l.last, 0)
           OR (l.entries IS NOT NULL AND l.first <> 1)""",
    "log_out_of_turn_order": """
        SELECT count(*) FROM (
            SELECT t.seq, lag(t.seq) OVER (PARTITION BY l.session_id ORDER BY l.position) AS before
            FROM session_log l JOIN turns t ON t.turn_id = l.turn_id) ordered
        WHERE ordered.before > ordered.seq""",
    "session_with_two_open_turns": """
        SELECT count(*) FROM (SELECT session_id FROM turns WHERE status IN ('accepted', 'running')
            GROUP BY session_id HAVING count(*) > 1) busy""",
    "ended_session_with_open_turn": """
        SELECT count(*) FROM turns t JOIN sessions s ON s.session_id = t.session_id
        WHERE s.state = 'ended' AND t.status IN ('accepted', 'running')""",
    "seq_beyond_counter": """
        SELECT count(*) FROM users u WHERE u.seq < (SELECT coalesce(max(seq), 0) FROM turns)
            OR u.seq < (SELECT coalesce(max(seq), 0) FROM memory_facts)""",
    "fact_of_cleared_generation": """
        SELECT count(*) FROM memory_facts f JOIN turns t ON t.turn_id = f.turn_id, users u
        WHERE t.purge_generation <> u.memory_purge_gen""",
    "candidate_of_cleared_generation": """
        SELECT count(*) FROM memory_candidates c JOIN turns t ON t.turn_id = c.turn_id, users u
        WHERE t.purge_generation <> u.memory_purge_gen""",
    "fact_older_than_tombstone": """
        SELECT count(*) FROM memory_facts f JOIN memory_tombstones b
            ON b.fact_key = f.fact_key AND b.fingerprint = ''::bytea
        WHERE f.seq <= b.seq""",
    "candidate_older_than_tombstone": """
        SELECT count(*) FROM memory_candidates c JOIN memory_tombstones b
            ON b.fact_key = c.fact_key AND b.fingerprint = ''::bytea
        WHERE c.seq <= b.seq""",
}

_SETTLED: Mapping[str, str] = {
    "turn_still_open": "SELECT count(*) FROM turns WHERE status IN ('accepted', 'running')",
    "work_still_open": "SELECT count(*) FROM dispatch WHERE state IN ('pending', 'leased')",
    "curation_dead": "SELECT count(*) FROM dispatch WHERE kind = 'curate_turn' AND state = 'dead'",
}


async def check_invariants(database: Database, request: CheckInvariants) -> InvariantReport:
    queries = {**_ALWAYS, **(_SETTLED if request.settled else {})}
    violations = {
        **dict.fromkeys(queries, 0),
        "tool_call_without_one_result": 0,
        "memory_in_log_of_cleared_generation": 0,
    }
    for owner in await all_owners(database):
        async with database.of_user(owner) as tx:
            for name, query in queries.items():
                parameters = {"memory_enabled": tx.policy.memory_enabled} if ":memory_enabled" in query else {}
                violations[name] += int(await tx.connection.scalar(text(query), parameters) or 0)
            violations["tool_call_without_one_result"] += await _broken_calls(tx)
            violations["memory_in_log_of_cleared_generation"] += await _memory_left_in_logs(tx)
    return InvariantReport(violations=violations)


async def all_owners(database: Database) -> list[Owner]:
    async with database.of_dispatch() as connection:
        rows = await connection.execute(select(users.c.tenant_id, users.c.user_id))
        return [Owner(tenant_id=row[0], user_id=row[1]) for row in rows]


async def _broken_calls(tx: UserTransaction) -> int:
    """Calls of ended turns without a result, and results without a call or with more than one for it."""
    ended = text(
        "SELECT DISTINCT l.session_id, l.turn_id FROM session_log l JOIN turns t ON t.turn_id = l.turn_id "
        "WHERE t.status IN ('completed', 'failed', 'cancelled')"
    )
    broken = 0
    for session_id, turn_id in (await tx.connection.execute(ended)).all():
        log = await read_log(tx, session_id, turn_id)
        messages = [json.loads(entry.payload) for entry in log]
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        results = [message["tool_call_id"] for message in messages if message.get("role") == "tool"]
        if any(entry.payload == ERASED_PAYLOAD for entry in log):
            continue  # the pairing went with the words
        broken += len(open_calls(messages)) + abs(len(results) - len(set(results) & set(calls)))
    return broken


async def _memory_left_in_logs(tx: UserTransaction) -> int:
    """Entries that hold memory, of turns from before the user's last clear, that were not overwritten."""
    bearing = text(
        "SELECT DISTINCT l.session_id, l.turn_id FROM session_log l JOIN turns t ON t.turn_id = l.turn_id, users u "
        "WHERE l.bears_memory AND t.purge_generation <> u.memory_purge_gen"
    )
    left = 0
    for session_id, turn_id in (await tx.connection.execute(bearing)).all():
        log = await read_log(tx, session_id, turn_id)
        left += sum(entry.bears_memory and entry.payload != ERASED_PAYLOAD for entry in log)
    return left
