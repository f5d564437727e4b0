"""No word of a user's lies in PostgreSQL in the clear, and none in an event: looked for in every column there is."""

from collections.abc import AsyncIterator
from decimal import Decimal

import asyncpg
import pytest
from tests.support.memory_service import MemoryService
from tests.support.orders import an_order, propose

from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.facts import ProposedFact, PutFact
from common.memory_api.operations import Service
from common.memory_api.sessions import Layer, NewLogEntry
from common.memory_api.skills import CreateSkill, NewPersonalSkill
from common.memory_api.turns import (
    AppendStep,
    Behaviour,
    FinishTurn,
    ItemCard,
    ModelCall,
    ModelCallKind,
)
from common.memory_api.user_data import BehaviourKind, PutSettings, UserSettings
from devstack.database import DatabaseUrls

CANARY = "金丝雀canary金丝雀"


@pytest.fixture
async def as_admin(module_database: DatabaseUrls) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(module_database.admin)
    yield connection
    await connection.close()


async def leave_words_everywhere(memory: MemoryService, owner: Owner) -> None:
    for value in ("旧的" + CANARY, "新的" + CANARY):  # the older becomes a version
        await memory.call(
            Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=ProposedFact(key="k", value=value))
        )
    settings = UserSettings(platforms=[CANARY])
    await memory.call(Service.GATEWAY, op.PUT_SETTINGS, PutSettings(owner=owner, settings=settings))
    skill = NewPersonalSkill(name="own-way", description=f"读我{CANARY}", body=f"先做{CANARY}")
    await memory.call(Service.GATEWAY, op.CREATE_SKILL, CreateSkill(owner=owner, skill=skill))
    turn = await memory.accept(owner, f"我说{CANARY}")
    await memory.claim(turn)
    entry = NewLogEntry(entry_id=new_id(), layer=Layer.L4, payload=f'{{"role":"user","content":"{CANARY}"}}')
    call = ModelCall(
        call_number=1, kind=ModelCallKind.MAIN, attempt=1, model="m", duration_ms=1, layer_hashes={"L4": "abcd" * 4}
    )
    step = AppendStep(
        owner=owner, turn_id=turn.turn_id, lease_token=turn.token, expected_head=0, entries=[entry], model_call=call
    )
    head = (await memory.call(Service.AGENT, op.APPEND_STEP, step)).head
    await memory.save(turn, "saved", CANARY)
    await propose(memory, turn, an_order(CANARY))
    card = ItemCard(
        item_id="i", title=CANARY, brand="b", price=Decimal(1), currency="CNY", platform="p", ships_from="CN"
    )
    await memory.call(
        Service.AGENT,
        op.FINISH_TURN,
        FinishTurn(
            owner=owner,
            turn_id=turn.turn_id,
            lease_token=turn.token,
            expected_head=head,
            reply=CANARY,
            items=[card],
            behaviour=[Behaviour(kind=BehaviourKind.SEARCH, text=CANARY)],
            session_constraints={"must": [CANARY]},
        ),
    )
    await memory.curate(turn, ProposedFact(key="guess", value="完全没有说过的事情"))


async def columns_with(connection: asyncpg.Connection, user_id: str, words: bytes) -> list[str]:
    """Every column of every table in which the user's rows hold these bytes."""
    columns = await connection.fetch(
        "SELECT table_name, column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = 'public' AND table_name <> 'alembic_version'"
    )
    found = []
    for table, column, data_type in columns:
        if "user_id" not in {name for owned, name, _ in columns if owned == table}:
            continue  # what belongs to no user
        as_bytes = column if data_type == "bytea" else f"convert_to({column}::text, 'UTF8')"
        query = f"SELECT count(*) FROM {table} WHERE user_id = $1 AND position($2::bytea IN {as_bytes}) > 0"
        if await connection.fetchval(query, user_id, words):
            found.append(f"{table}.{column}")
    return found


async def test_no_column_holds_a_users_words(memory: MemoryService, owner: Owner, as_admin: asyncpg.Connection) -> None:
    await leave_words_everywhere(memory, owner)
    assert await columns_with(as_admin, owner.user_id, CANARY.encode()) == []
    assert await columns_with(as_admin, owner.user_id, b"canary") == []
    assert await columns_with(as_admin, owner.user_id, b"abcd" * 4) == [], "a hash of the user's words needs a key"
    assert "turns.idempotency_key" in await columns_with(as_admin, owner.user_id, b"-"), "the search itself works"


async def test_every_table_was_looked_at(memory: MemoryService, owner: Owner, as_admin: asyncpg.Connection) -> None:
    """A table that the scenario leaves empty would prove nothing."""
    await leave_words_everywhere(memory, owner)
    tables = await as_admin.fetch(
        "SELECT DISTINCT table_name FROM information_schema.columns "
        "WHERE table_schema = 'public' AND data_type = 'bytea'"
    )
    for (table,) in tables:
        if table != "memory_tombstones":  # holds keyed hashes only
            assert await as_admin.fetchval(f"SELECT count(*) FROM {table} WHERE user_id = $1", owner.user_id), table
