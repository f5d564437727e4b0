"""Model calls are stored as they were reported and told to their owner alone."""

import json
from typing import Any
from uuid import uuid4

import pytest
from tests.support.memory_service import ATurn, MemoryService

from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.curation import Ingest
from common.memory_api.facts import ProposedFact, PutFact
from common.memory_api.operations import Service
from common.memory_api.sessions import Layer, NewLogEntry, SessionRequest
from common.memory_api.turns import AppendStep, ModelCall, ModelCallKind, PrefixBreak
from common.memory_api.usage import Usage
from common.problems import ProblemCode, ProblemError

_MESSAGE = json.dumps({"role": "assistant", "content": "好"})


async def store(memory: MemoryService, turn: ATurn, head: int, **call: Any) -> int:
    """Append one entry with a model call; returns the new head."""
    told = {"call_number": 1, "kind": ModelCallKind.MAIN, "attempt": 1, "model": "m", "duration_ms": 5, **call}
    step = AppendStep(
        owner=turn.owner,
        turn_id=turn.turn_id,
        lease_token=turn.token,
        expected_head=head,
        entries=[NewLogEntry(entry_id=new_id(), layer=Layer.L3, payload=_MESSAGE)],
        model_call=ModelCall(**told),
    )
    return int((await memory.call(Service.AGENT, op.APPEND_STEP, step)).head)


async def usage(memory: MemoryService, owner: Owner, turn: ATurn) -> Usage:
    request = SessionRequest(owner=owner, session_id=turn.session_id)
    answer: Usage = await memory.call(Service.GATEWAY, op.SESSION_USAGE, request)
    return answer


async def test_every_field_of_a_call_comes_back(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    told: dict[str, Any] = {
        "call_number": 3,
        "kind": ModelCallKind.COMPACTION,
        "attempt": 2,
        "model": "qwen-plus",
        "prompt_tokens": 9_000,
        "cached_tokens": 8_000,
        "cache_write_tokens": 700,
        "completion_tokens": 120,
        "reasoning_tokens": 50,
        "time_to_first_token_ms": 321,
        "duration_ms": 900,
        "finish_reason": "stop",
        "log_position": 17,
        "layer_hashes": {"L0": "0123456789abcdef", "L4": "fedcba9876543210"},
        "first_differing_layer": "L3",
        "first_differing_position": 12_345,
        "first_differing_cause": PrefixBreak.PRUNE,
    }
    assert set(told) == set(ModelCall.model_fields), "a new field of the contract is stored too"
    await store(memory, turn, 0, **told)
    (stored,) = (await usage(memory, owner, turn)).calls
    hashes = stored.layer_hashes
    assert stored.model_dump(include=set(told) - {"layer_hashes"}) == {
        name: value for name, value in told.items() if name != "layer_hashes"
    }
    assert (stored.turn_id, stored.turn_number) == (turn.turn_id, 1)
    assert hashes["L0"] == "0123456789abcdef", "what everybody shares stays comparable"
    assert set(hashes) == {"L0", "L4"}
    assert hashes["L4"] != "fedcba9876543210", "a hash of a user's words gets that user's key"


async def test_unknown_stays_unknown(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    head = await store(memory, turn, 0, prompt_tokens=4_000, cached_tokens=1_000)
    head = await store(memory, turn, head, call_number=2, prompt_tokens=9_000)
    await store(memory, turn, head, call_number=3)
    told = await usage(memory, owner, turn)
    assert [call.cached_tokens for call in told.calls] == [1_000, None, None]
    total = told.summary.total
    assert (total.calls, total.unknown_calls, total.prompt_tokens, total.rate) == (3, 2, 4_000, 0.25)
    assert told.summary.unknown_share == pytest.approx(2 / 3)


async def test_turns_are_numbered_within_their_session(memory: MemoryService, owner: Owner) -> None:
    """Edits and turns of other sessions take numbers of the user's order; a turn without calls counts too."""
    first = await memory.accept(owner)
    await store(memory, first, (await memory.claim(first)).head)
    await memory.finish(first, 1)
    await memory.complete(owner)
    fact = PutFact(owner=owner, proposed=ProposedFact(key="size", value="M 码", category="preference"))
    await memory.call(Service.GATEWAY, op.PUT_FACT, fact)
    silent = await memory.complete(owner, "没有调用", first.session_id)
    third = await memory.accept(owner, "再来", first.session_id)
    await store(memory, third, (await memory.claim(third)).head)
    calls = (await usage(memory, owner, first)).calls
    assert [call.turn_id for call in calls] == [first.turn_id, third.turn_id]
    assert [call.turn_number for call in calls] == [1, 3]
    assert calls[1].turn_seq > 3
    assert silent.session_id == first.session_id


async def test_side_calls_are_in_it(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.complete(owner)
    token = uuid4()
    await memory.claim_curation(turn, token)
    curator = ModelCall(
        call_number=1, kind=ModelCallKind.CURATOR, attempt=1, model="m", duration_ms=5, prompt_tokens=8, cached_tokens=2
    )
    ingest = Ingest(owner=owner, turn_id=turn.turn_id, lease_token=token, run=0, proposed=[], model_call=curator)
    await memory.call(Service.CURATOR, op.INGEST, ingest)
    summary = (await usage(memory, owner, turn)).summary
    assert [(row.kind, row.rate) for row in summary.by_kind] == [(ModelCallKind.CURATOR, 0.25)]


async def test_nobody_else_sees_it(memory: MemoryService, owner: Owner) -> None:
    turn = await memory.accept(owner)
    await memory.claim(turn)
    await store(memory, turn, 0, prompt_tokens=10, cached_tokens=5)
    assert (await usage(memory, owner, turn)).summary.total.calls == 1
    strangers = (
        Owner(tenant_id=owner.tenant_id, user_id=f"u-{uuid4()}"),
        Owner(tenant_id="t2", user_id=owner.user_id),
    )
    for stranger in strangers:
        with pytest.raises(ProblemError) as refused:
            await usage(memory, stranger, turn)
        assert refused.value.code is ProblemCode.NOT_FOUND
