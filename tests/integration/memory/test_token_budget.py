"""The budget of tokens for a day: counted as providers report, told with the time of its end, and over at midnight."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from faststream.redis import RedisBroker
from redis.asyncio import Redis
from tests.support.memory_service import ATurn, MemoryService, memory_settings, serving_memory
from tests.support.replays import Replaying

from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.curation import ClaimCuration, FailCuration
from common.memory_api.operations import Service
from common.memory_api.sessions import Layer, NewLogEntry
from common.memory_api.turns import AppendStep, ModelCall, ModelCallKind
from common.memory_api.user_data import PutSettings, UserSettings
from common.problems import ProblemCode, ProblemError
from devstack.database import DatabaseUrls

BUDGET = 1_000
KIRITIMATI = "Pacific/Kiritimati"


@pytest.fixture(scope="module")
async def memory(
    module_database: DatabaseUrls, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MemoryService]:
    settings = memory_settings(module_database, valkey, tmp_path_factory.mktemp("memory"), tokens_per_user_day=BUDGET)
    async with serving_memory(settings) as service:
        yield service


@pytest.fixture
async def replaying(memory: MemoryService, redis_url: str) -> AsyncIterator[Replaying]:
    async with Redis.from_url(redis_url) as redis, RedisBroker(redis_url) as broker:
        running = Replaying(memory, redis, broker)
        yield running
        await running.database.close()


def call(prompt: int | None, completion: int | None, kind: ModelCallKind = ModelCallKind.MAIN) -> ModelCall:
    return ModelCall(
        call_number=1,
        kind=kind,
        attempt=1,
        model="m",
        prompt_tokens=prompt,
        completion_tokens=completion,
        duration_ms=1,
    )


async def spend(memory: MemoryService, owner: Owner, prompt: int | None, completion: int | None) -> ATurn:
    """A finished turn that cost this."""
    turn = await memory.accept(owner)
    head = (await memory.claim(turn)).head
    step = AppendStep(
        owner=owner,
        turn_id=turn.turn_id,
        lease_token=turn.token,
        expected_head=head,
        entries=[NewLogEntry(entry_id=new_id(), layer=Layer.L3, payload='{"role":"user","content":"好"}')],
        model_call=call(prompt, completion),
    )
    await memory.finish(turn, (await memory.call(Service.AGENT, op.APPEND_STEP, step)).head)
    return turn


async def refusal(memory: MemoryService, owner: Owner) -> ProblemError:
    with pytest.raises(ProblemError) as caught:
        await memory.accept(owner)
    return caught.value


async def test_who_has_used_it_up_begins_no_turn_until_midnight(memory: MemoryService, owner: Owner) -> None:
    zone = UserSettings(time_zone=KIRITIMATI)
    await memory.call(Service.GATEWAY, op.PUT_SETTINGS, PutSettings(owner=owner, settings=zone))
    await spend(memory, owner, BUDGET - 1, None)
    under_way = await memory.accept(owner, "最后一轮", key="the-last-one")
    await spend(memory, owner, 0, 1)
    problem = await refusal(memory, owner)
    assert problem.code is ProblemCode.TOKEN_BUDGET
    assert problem.problem.status == 429
    now = memory.clock.now().astimezone(ZoneInfo(KIRITIMATI))
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), tzinfo=now.tzinfo)
    assert problem.retry_after is not None
    assert abs(problem.retry_after - (midnight - now).total_seconds()) < 120

    repeated = await memory.accept(owner, "最后一轮", under_way.session_id, key="the-last-one")
    assert repeated.turn_id == under_way.turn_id, "what was accepted is answered as before"
    await memory.finish(under_way, (await memory.claim(under_way)).head)
    await memory.accept(Owner(tenant_id=owner.tenant_id, user_id=f"u-{uuid4()}"))

    memory.clock.advance(problem.retry_after + 1)
    await memory.accept(owner)


async def test_what_a_provider_does_not_tell_counts_nothing(memory: MemoryService, owner: Owner) -> None:
    await spend(memory, owner, None, None)
    await memory.accept(owner)


async def test_the_curators_calls_count_and_a_replays_do_not(
    memory: MemoryService, replaying: Replaying, owner: Owner
) -> None:
    turn = await spend(memory, owner, 1, 1)
    await fail_curation(memory, turn, run=0, tokens=1)
    await memory.accept(owner)
    await memory.curate(turn)
    await replaying.start(owner)
    (event,) = await replaying.beat()
    await fail_curation(memory, turn, run=event.run, tokens=BUDGET)
    await memory.accept(owner)

    other = Owner(tenant_id=owner.tenant_id, user_id=f"u-{uuid4()}")
    await fail_curation(memory, await spend(memory, other, 1, 1), run=0, tokens=BUDGET)
    assert (await refusal(memory, other)).code is ProblemCode.TOKEN_BUDGET


async def fail_curation(memory: MemoryService, turn: ATurn, run: int, tokens: int) -> None:
    token = uuid4()
    claim = ClaimCuration(owner=turn.owner, turn_id=turn.turn_id, lease_token=token, run=run)
    await memory.call(Service.CURATOR, op.CLAIM_CURATION, claim)
    failed = FailCuration(
        owner=turn.owner,
        turn_id=turn.turn_id,
        lease_token=token,
        run=run,
        error_code="unusable",
        spend_attempt=False,
        model_calls=[call(tokens, 0, ModelCallKind.CURATOR)],
    )
    await memory.call(Service.CURATOR, op.FAIL_CURATION, failed)
    memory.clock.advance(60)  # past the pause after a failure
