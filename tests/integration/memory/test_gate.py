"""Every way of writing a fact leads through the gate, with the operator's patterns too."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.memory_service import MemoryService, memory_settings, serving_memory

from common.memory_api import operations as op
from common.memory_api.base import OwnedRequest, Owner
from common.memory_api.facts import CandidateRequest, FactAction, FactKeyRequest, ProposedFact, PutFact, RestoreFact
from common.memory_api.operations import Service
from common.problems import ProblemCode, ProblemError
from devstack.database import DatabaseUrls

RULE = "operator-employee-number"
WAITING = ProposedFact(key="badge_spare", value="EMP-9999", category="context")


@pytest.fixture
async def lenient(module_database: DatabaseUrls, valkey: str, tmp_path: Path) -> AsyncIterator[MemoryService]:
    async with serving_memory(memory_settings(module_database, valkey, tmp_path)) as service:
        yield service


@pytest.fixture
async def strict(module_database: DatabaseUrls, valkey: str, tmp_path: Path) -> AsyncIterator[MemoryService]:
    """The same data behind a memory service that was told a pattern."""
    patterns = {"employee-number": r"emp-\d{4}"}
    settings = memory_settings(module_database, valkey, tmp_path, memory_pii_patterns=patterns)
    async with serving_memory(settings) as service:
        yield service


async def put(memory: MemoryService, owner: Owner, value: str) -> None:
    await memory.call(
        Service.GATEWAY, op.PUT_FACT, PutFact(owner=owner, proposed=ProposedFact(key="badge", value=value))
    )


async def test_no_writer_gets_past_a_rule(lenient: MemoryService, strict: MemoryService, owner: Owner) -> None:
    for value in ("EMP-1111", "EMP-2222"):
        await put(lenient, owner, value)
    asked = await lenient.complete(owner, "你好")
    assert [each.action for each in await lenient.curate(asked, WAITING)] == [FactAction.CANDIDATE]
    before = await strict.facts(owner)

    turn = await strict.accept(owner, "我的工牌是 EMP-3333")
    head = (await strict.claim(turn)).head
    outcomes = [await strict.save(turn, "badge", "EMP-3333")]
    await strict.finish(turn, head)
    outcomes += await strict.curate(turn, ProposedFact(key="badge", value="EMP-3333", evidence="我的工牌是 EMP-3333"))
    assert [(each.action, each.rule, each.value) for each in outcomes] == [(FactAction.REFUSED, RULE, None)] * 2

    history = await strict.call(Service.GATEWAY, op.FACT_HISTORY, FactKeyRequest(owner=owner, key="badge"))
    waiting = await strict.call(Service.GATEWAY, op.LIST_CANDIDATES, OwnedRequest(owner=owner))
    restored = RestoreFact(owner=owner, version_id=history.versions[0].version_id)
    accepted = CandidateRequest(owner=owner, candidate_id=waiting.candidates[0].candidate_id)
    edited = PutFact(owner=owner, proposed=ProposedFact(key="badge", value="EMP-3333"))
    for operation, request in (
        (op.PUT_FACT, edited),
        (op.RESTORE_FACT, restored),
        (op.ACCEPT_CANDIDATE, accepted),
    ):
        with pytest.raises(ProblemError) as refused:
            await strict.call(Service.GATEWAY, operation, request)
        assert refused.value.code is ProblemCode.FACT_REFUSED
        assert refused.value.problem.model_dump()["rule"] == RULE
        assert "EMP" not in refused.value.problem.model_dump_json()
    assert await strict.facts(owner) == before
