"""The log's entries that replace messages, calls that bring none, and what a claim tells of the call before."""

import json

from tests.support.memory_service import ATurn, MemoryService

from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner, TurnRequest
from common.memory_api.operations import Service
from common.memory_api.sessions import EntryKind, Layer, LogEntry, NewLogEntry, SessionRequest
from common.memory_api.turns import AppendStep, Head, ModelCall, ModelCallKind, PreviousCall
from common.memory_api.usage import Usage
from memory.app import build_database
from memory.policy import Policy
from memory.sessions.log import read_log


def user() -> NewLogEntry:
    return NewLogEntry(entry_id=new_id(), layer=Layer.L4, payload='{"role":"user","content":"甲"}')


def entry(payload: str, kind: EntryKind = EntryKind.MESSAGE, *, bears_memory: bool = False) -> NewLogEntry:
    return NewLogEntry(entry_id=new_id(), kind=kind, layer=Layer.L3, payload=payload, bears_memory=bears_memory)


def call(number: int, kind: ModelCallKind = ModelCallKind.MAIN, position: int | None = None) -> ModelCall:
    hashes = {"L0": "aa", "L1": "bb", "L4": "cc"} if kind is ModelCallKind.MAIN else {}
    return ModelCall(
        call_number=number,
        kind=kind,
        attempt=1,
        model="m",
        prompt_tokens=100 * number,
        duration_ms=5,
        log_position=position,
        layer_hashes=hashes,
    )


async def store(
    memory: MemoryService, turn: ATurn, head: int, entries: list[NewLogEntry], made: ModelCall | None = None
) -> int:
    step = AppendStep(
        owner=turn.owner,
        turn_id=turn.turn_id,
        lease_token=turn.token,
        expected_head=head,
        entries=entries,
        model_call=made,
    )
    stored: Head = await memory.call(Service.AGENT, op.APPEND_STEP, step)
    return stored.head


async def test_prune_and_summary_entries_come_back_as_they_were(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    prune = entry('{"positions":[3],"placeholder":"[pruned]"}', EntryKind.PRUNE)
    summary = entry('{"message":"{}","kept":[],"tail_from":2}', EntryKind.SUMMARY, bears_memory=True)
    assert await store(memory, turn, 0, [user(), prune, summary]) == 3
    again = await memory.claim(turn)
    assert [(each.kind, each.payload) for each in again.log[1:]] == [
        (EntryKind.PRUNE, prune.payload),
        (EntryKind.SUMMARY, summary.payload),
    ]


async def test_a_call_that_brought_no_entry_is_stored_once(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    for _ in range(2):
        assert await store(memory, turn, 0, [], call(1, ModelCallKind.PLANNER)) == 0
    request = SessionRequest(owner=owner, session_id=turn.session_id)
    usage: Usage = await memory.call(Service.GATEWAY, op.SESSION_USAGE, request)
    assert [(each.kind, each.call_number) for each in usage.calls] == [("planner", 1)]


async def test_a_claim_tells_of_the_sessions_last_main_call(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    assert (await memory.claim(turn)).previous_call is None
    head = await store(memory, turn, 0, [user()], call(1, ModelCallKind.PLANNER))
    head = await store(memory, turn, head, [entry('{"role":"assistant","content":"乙"}')], call(2, position=1))
    head = await store(memory, turn, head, [entry('{"role":"assistant","content":"丙"}')], call(3, position=2))
    head = await store(memory, turn, head, [], call(4, ModelCallKind.COMPACTION, position=3))
    await memory.finish(turn, head)
    later = await memory.accept(owner, "还有呢", turn.session_id)
    told = (await memory.claim(later)).previous_call
    assert told == PreviousCall(prompt_tokens=300, log_position=2, layer_hashes={"L0": "aa", "L1": "bb"})
    elsewhere = await memory.accept(owner, "另一个会话")
    assert (await memory.claim(elsewhere)).previous_call is None


async def test_a_turn_that_is_cut_off_behind_a_prune_is_closed(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    asked = '{"role":"assistant","content":"","tool_calls":[{"id":"c1","function":{"name":"x","arguments":"{}"}}]}'
    result = entry('{"role":"tool","tool_call_id":"c1","content":"1"}')
    prune = entry('{"positions":[3],"placeholder":"[pruned]"}', EntryKind.PRUNE)
    await store(memory, turn, 0, [user(), entry(asked), result, prune])
    await memory.call(Service.GATEWAY, op.CANCEL_TURN, TurnRequest(owner=owner, turn_id=turn.turn_id))
    log = await stored_log(memory, turn)
    assert [json.loads(each.payload).get("role") for each in log] == ["user", "assistant", "tool", None, "assistant"]


async def test_a_clear_overwrites_a_summary_that_bears_memory(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    message = json.dumps({"role": "user", "content": "对坚果过敏"}, ensure_ascii=False)
    payload = json.dumps({"message": message, "kept": [], "tail_from": 1}, ensure_ascii=False)
    await store(memory, turn, 0, [user(), entry(payload, EntryKind.SUMMARY, bears_memory=True)])
    await memory.clear(owner)
    log = await stored_log(memory, turn)
    assert log[1].kind is EntryKind.SUMMARY
    assert "坚果" not in "".join(each.payload for each in log)


async def stored_log(memory: MemoryService, turn: ATurn) -> list[LogEntry]:
    database = build_database(memory.settings, Policy(), memory.clock)
    async with database.of_user(turn.owner) as tx:
        log = await read_log(tx, turn.session_id)
    await database.close()
    return log
