"""A turn's life in the memory service: accepted once, claimed once, finished once (design section 4)."""

import asyncio
from collections.abc import Awaitable
from uuid import uuid4

import asyncpg
import pytest
from tests.support.memory_service import ATurn, MemoryService

from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner, TurnRequest
from common.memory_api.operations import Service
from common.memory_api.sessions import Layer, NewLogEntry, SessionRequest
from common.memory_api.turns import (
    AppendStep,
    FailureCode,
    FinishTurn,
    ModelCall,
    ModelCallKind,
    ReleaseTurn,
    RenewLease,
    TurnStatus,
    TurnView,
)
from common.problems import ProblemCode, ProblemError
from devstack.database import DatabaseUrls


async def refused(code: ProblemCode, awaitable: Awaitable[object]) -> None:
    with pytest.raises(ProblemError) as caught:
        await awaitable
    assert caught.value.code is code


async def view(memory: MemoryService, turn: ATurn) -> TurnView:
    request = TurnRequest(owner=turn.owner, turn_id=turn.turn_id)
    answer: TurnView = await memory.call(Service.GATEWAY, op.GET_TURN, request)
    return answer


async def test_two_turns_at_once_in_one_session_one_is_accepted(memory: MemoryService, owner: Owner) -> None:
    session_id = await memory.new_session(owner)
    answers = await asyncio.gather(
        *(memory.accept(owner, f"turn {n}", session_id) for n in range(8)), return_exceptions=True
    )
    accepted = [answer for answer in answers if isinstance(answer, ATurn)]
    problems = [answer.code for answer in answers if isinstance(answer, ProblemError)]
    assert len(accepted) == 1
    assert problems == [ProblemCode.TURN_OPEN] * 7


async def test_the_same_key_is_the_same_turn_and_another_body_is_refused(memory: MemoryService, owner: Owner) -> None:
    first = await memory.accept(owner, "背包", key="key-1")
    again = await memory.accept(owner, "背包", first.session_id, key="key-1")
    assert again.turn_id == first.turn_id
    await refused(ProblemCode.IDEMPOTENCY_CONFLICT, memory.accept(owner, "雨伞", first.session_id, key="key-1"))
    await memory.claim(first)
    await memory.finish(first, 0)
    ended = await memory.accept(owner, "背包", first.session_id, key="key-1")
    assert ended.turn_id == first.turn_id, "also after its end"


async def test_the_same_key_at_once_is_one_turn(memory: MemoryService, owner: Owner) -> None:
    session_id = await memory.new_session(owner)
    turns = await asyncio.gather(*(memory.accept(owner, "背包", session_id, key="same") for _ in range(8)))
    assert len({turn.turn_id for turn in turns}) == 1


async def test_seq_counts_turns_and_edits_of_the_user(memory: MemoryService, owner: Owner) -> None:
    first = await memory.complete(owner)
    second = await memory.complete(owner)
    assert (await view(memory, first)).seq == 1
    assert (await view(memory, second)).seq == 2


async def test_a_claimed_turn_is_held_by_its_token_alone(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    claimed = await memory.claim(turn)
    assert claimed.attempt == 1
    assert claimed.text == "我对坚果过敏"
    repeated = await memory.claim(turn)
    assert repeated.attempt == 1, "a lost answer, asked for again, is the same claim"
    other = ATurn(owner, turn.session_id, turn.turn_id, uuid4())
    await refused(ProblemCode.LEASE_HELD, memory.claim(other))
    await refused(ProblemCode.LEASE_LOST, memory.append(other, 0, '{"role":"user","content":"x"}'))
    await refused(ProblemCode.LEASE_LOST, memory.finish(other, 0))
    await refused(ProblemCode.LEASE_LOST, memory.save(other, "k", "v"))
    await refused(
        ProblemCode.LEASE_LOST,
        memory.call(
            Service.AGENT, op.RENEW_LEASE, RenewLease(owner=owner, turn_id=turn.turn_id, lease_token=other.token)
        ),
    )


async def test_a_step_is_appended_once_and_a_moved_head_is_told(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    step = AppendStep(
        owner=owner,
        turn_id=turn.turn_id,
        lease_token=turn.token,
        expected_head=0,
        entries=[
            NewLogEntry(entry_id=new_id(), layer=Layer.L4, payload='{"role":"user","content":"甲"}'),
            NewLogEntry(entry_id=new_id(), layer=Layer.L3, payload='{"role":"assistant","content":"乙"}'),
        ],
        model_call=ModelCall(call_number=1, kind=ModelCallKind.MAIN, attempt=1, model="m", duration_ms=5),
    )
    assert (await memory.call(Service.AGENT, op.APPEND_STEP, step)).head == 2
    assert (await memory.call(Service.AGENT, op.APPEND_STEP, step)).head == 2, "repeated after a lost answer"
    await refused(ProblemCode.HEAD_MOVED, memory.append(turn, 0, '{"role":"assistant","content":"丙"}'))
    await refused(ProblemCode.HEAD_MOVED, memory.append(turn, 5, '{"role":"assistant","content":"丙"}'))
    taken_up = await memory.claim(turn)
    assert [entry.payload for entry in taken_up.log] == [entry.payload for entry in step.entries]
    assert taken_up.model_calls == 1


async def test_finish_is_once_and_repeatable_by_its_worker(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    await memory.finish(turn, 0, "第一个答案")
    await memory.finish(turn, 0, "第二个答案")
    ended = await view(memory, turn)
    assert ended.status is TurnStatus.COMPLETED
    assert ended.reply == "第一个答案"
    await refused(ProblemCode.ALREADY_DONE, memory.claim(ATurn(owner, turn.session_id, turn.turn_id, uuid4())))


async def test_the_next_turn_gets_the_session_constraints_that_the_last_plan_left(
    memory: MemoryService, owner: Owner
) -> None:
    """A turn without a plan leaves them; another session has its own."""
    session_id = await memory.new_session(owner)
    for stored, expected in [({"exclude": ["塑料"]}, None), (None, {"exclude": ["塑料"]}), ({}, {"exclude": ["塑料"]})]:
        turn = await memory.accept(owner, "找包", session_id)
        claimed = await memory.claim(turn)
        assert claimed.session_constraints == expected
        await memory.finish(turn, claimed.head, session_constraints=stored)
    last = await memory.claim(await memory.accept(owner, "找包", session_id))
    assert last.session_constraints == {}
    other = await memory.claim(await memory.accept(owner, "找包"))
    assert other.session_constraints is None


async def test_a_failed_turn_leaves_a_valid_log_and_an_answer(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    calls = '[{"id":"c1","type":"function","function":{"name":"item_search","arguments":"{}"}}]'
    head = await memory.append(turn, 0, '{"role":"assistant","content":null,"tool_calls":' + calls + "}")
    await memory.call(
        Service.AGENT,
        op.FINISH_TURN,
        FinishTurn(
            owner=owner,
            turn_id=turn.turn_id,
            lease_token=turn.token,
            expected_head=head,
            failure=FailureCode.MODEL_UNAVAILABLE,
            reply="模型服务暂时连不上",
        ),
    )
    following = await memory.accept(owner, "再来", turn.session_id)
    log = (await memory.claim(following)).log
    assert '"tool_call_id":"c1"' in log[1].payload
    assert "模型服务暂时连不上" in log[2].payload
    assert (await view(memory, turn)).failure is FailureCode.MODEL_UNAVAILABLE


async def test_cancel_ends_the_turn_and_revokes_the_lease(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    request = TurnRequest(owner=owner, turn_id=turn.turn_id)
    cancelled = await memory.call(Service.GATEWAY, op.CANCEL_TURN, request)
    assert cancelled.status is TurnStatus.CANCELLED
    assert cancelled.reply
    await refused(ProblemCode.LEASE_LOST, memory.finish(turn, 0))
    again = await memory.call(Service.GATEWAY, op.CANCEL_TURN, request)
    assert again.finished_at == cancelled.finished_at, "cancelling twice is cancelling once"
    await memory.complete(owner, "下一轮", turn.session_id)


async def test_a_handed_back_turn_spends_no_attempt(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    for number in range(1, 11):  # more often than there are attempts
        assert (await memory.claim(turn)).attempt == number, "each worker has a number of its own"
        await memory.call(
            Service.AGENT, op.RELEASE_TURN, ReleaseTurn(owner=owner, turn_id=turn.turn_id, lease_token=turn.token)
        )


async def test_an_ended_session_takes_no_turn(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    ended = await memory.call(Service.GATEWAY, op.END_SESSION, SessionRequest(owner=owner, session_id=turn.session_id))
    assert ended.state == "ended"
    assert (await view(memory, turn)).status is TurnStatus.CANCELLED
    await refused(ProblemCode.SESSION_ENDED, memory.accept(owner, "还在吗", turn.session_id))


async def test_nobody_reaches_a_turn_of_somebody_else(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.complete(owner)
    for stranger in (
        Owner(tenant_id="t1", user_id="somebody-else"),
        Owner(tenant_id="t2", user_id=owner.user_id),
    ):
        theirs = ATurn(stranger, turn.session_id, turn.turn_id, uuid4())
        await refused(ProblemCode.NOT_FOUND, view(memory, theirs))
        await refused(ProblemCode.NOT_FOUND, memory.claim(theirs))
        await refused(ProblemCode.NOT_FOUND, memory.claim_curation(theirs, uuid4()))
        await refused(ProblemCode.NOT_FOUND, memory.accept(stranger, "我的？", turn.session_id))


async def test_services_may_only_do_what_is_theirs(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    request = TurnRequest(owner=owner, turn_id=turn.turn_id)
    await refused(ProblemCode.FORBIDDEN, memory.call(Service.CURATOR, op.GET_TURN, request))
    await refused(ProblemCode.FORBIDDEN, memory.call(Service.AGENT, op.CANCEL_TURN, request))


async def test_a_rival_that_claims_again_and_again_hinders_nobody(
    memory: MemoryService, owner: Owner, module_database: DatabaseUrls
) -> None:
    """Locks are taken in one order, so there is no deadlock to be resolved at somebody's cost."""
    turn = await memory.accept(owner)
    head = (await memory.claim(turn)).head
    over = asyncio.Event()

    async def rival() -> None:
        while not over.is_set():
            await refused(ProblemCode.LEASE_HELD, memory.claim(ATurn(owner, turn.session_id, turn.turn_id, uuid4())))

    rivals = [asyncio.create_task(rival()) for _ in range(2)]
    for _ in range(60):
        head = await memory.append(turn, head, '{"role":"user","content":"x"}')
    over.set()
    await asyncio.gather(*rivals)
    await memory.finish(turn, head)
    connection = await asyncpg.connect(module_database.admin)
    await connection.execute("SELECT pg_stat_force_next_flush()")
    deadlocks = await connection.fetchval("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    await connection.close()
    assert deadlocks == 0
