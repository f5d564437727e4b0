"""Many users with many facts, written at once: COPY of rows whose values the real cipher sealed with users' keys."""

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import asyncpg

from common.clock import SystemClock
from common.ids import new_id
from common.memory_api.base import Owner
from devstack.database import DatabaseUrls
from memory.database.pool import Pool
from memory.encryption.cipher import Place, UserCipher
from memory.encryption.key_store import PostgresKeyStore, read_master_keys
from memory.encryption.keys import KeyRing

TENANT = "bench"
FACTS_OF_A_USER = 50

_SUBJECTS = (
    *(("clothes", "衣服"), ("shoes", "鞋子"), ("snacks", "零食"), ("coffee", "咖啡"), ("furniture", "家具")),
    *(("lamps", "灯具"), ("bags", "书包"), ("toys", "玩具"), ("towels", "毛巾"), ("kitchen", "厨具")),
)
_ASPECTS = (
    ("material", "不要塑料的", "constraint"),
    ("colour", "喜欢蓝色和灰色", "preference"),
    ("brand", "偏爱小众设计师品牌", "preference"),
    ("size", "一般买中号", "context"),
    ("budget", "通常不超过五百元", "preference"),
)
_CHUNK = 200
_AT_ONCE = 8

_COPIED = {
    "users": ("tenant_id", "user_id", "seq", "created_at"),
    "memory_facts": (
        *("tenant_id", "user_id", "fact_id", "fact_key", "value", "category", "source", "seq", "rank", "run"),
        *("session_id", "turn_id", "created_at", "updated_at"),
    ),
    "memory_fact_evidence": ("tenant_id", "user_id", "fact_id", "turn_id", "session_id", "source", "created_at"),
}


def owner_of(number: int) -> Owner:
    return Owner(tenant_id=TENANT, user_id=f"user-{number:06}")


async def populate(database: DatabaseUrls, master_key: Path, numbers: range) -> None:
    """Give each of these users a key, FACTS_OF_A_USER facts and a row of evidence for each fact."""
    pool = Pool(database.app, _AT_ONCE)
    keys = PostgresKeyStore(pool, read_master_keys(master_key), SystemClock(), new_id)
    connection = await asyncpg.connect(database.admin)
    try:
        # The rows are whole by construction; asking the foreign keys a million times takes longer than writing.
        await connection.execute("SET session_replication_role = replica")
        for start in range(numbers.start, numbers.stop, _CHUNK):
            chunk = range(start, min(start + _CHUNK, numbers.stop))
            await _copy(connection, await _ciphers(keys, chunk))
        await connection.execute("VACUUM (ANALYZE) users, user_keys, memory_facts, memory_fact_evidence")
        # Else the first measured commits wait for what filling the tables has left to be written.
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()
        await pool.close()


async def _ciphers(keys: PostgresKeyStore, numbers: range) -> list[tuple[Owner, UserCipher]]:
    owners = [owner_of(number) for number in numbers]
    made: list[KeyRing] = []
    for start in range(0, len(owners), _AT_ONCE):
        made += await asyncio.gather(*(keys.ring_of(owner) for owner in owners[start : start + _AT_ONCE]))
    ciphers = [(owner, UserCipher(owner, ring)) for owner, ring in zip(owners, made, strict=True)]
    for _, cipher in ciphers:
        cipher.use(None)
    return ciphers


async def _copy(connection: Any, users: Sequence[tuple[Owner, UserCipher]]) -> None:
    now = datetime.now(UTC)
    facts = [fact for owner, cipher in users for fact in _facts_of(owner, cipher, now)]
    rows = {
        "users": [(owner.tenant_id, owner.user_id, FACTS_OF_A_USER, now) for owner, _ in users],
        "memory_facts": facts,
        "memory_fact_evidence": [
            (tenant_id, user_id, fact_id, turn_id, session_id, source, now)
            for tenant_id, user_id, fact_id, _, _, _, source, _, _, _, session_id, turn_id, _, _ in facts
        ],
    }
    async with connection.transaction():
        for table, columns in _COPIED.items():
            await connection.copy_records_to_table(table, records=rows[table], columns=columns)


def _facts_of(owner: Owner, cipher: UserCipher, now: datetime) -> Iterator[tuple[Any, ...]]:
    for seq, ((subject, name), (aspect, words, category)) in enumerate(product(_SUBJECTS, _ASPECTS), start=1):
        fact_id = new_id()
        value = cipher.encrypt(f"{name}{words}", Place("memory_facts.value", fact_id))
        order = (seq, 0, 0)
        where_from = (new_id(), new_id())
        yield (*_key(owner), fact_id, f"{subject}_{aspect}", value, category, "curator", *order, *where_from, now, now)


def _key(owner: Owner) -> tuple[str, str]:
    return owner.tenant_id, owner.user_id
