"""Nothing writes a remembered value but what has passed `validate_fact`."""

from pathlib import Path

import pytest
from tests.support.only_door import ways_past_the_gate

SOURCES = Path(__file__).parents[2] / "services/memory/src"
SCHEMA = "from memory.database.schema import memory_candidates, memory_fact_versions, memory_facts\n"
VERBS = "from sqlalchemy import insert, update\nfrom sqlalchemy.dialects.postgresql import insert as upsert\n"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCES).with_suffix("").parts)


def test_no_statement_writes_a_remembered_value_past_the_gate() -> None:
    sources = {module_of(path): path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")}
    assert {"memory.facts.upserting", "memory.facts.candidates", "memory.facts.gate.fact"} <= sources.keys()
    assert [finding for module, source in sources.items() for finding in ways_past_the_gate(module, source)] == []


@pytest.mark.parametrize(
    "rogue",
    [
        "tx.execute(insert(memory_facts).values(value=x))",
        "STATEMENT = Statement(upsert(memory_candidates))",
        "tx.execute(update(memory_facts).where(a).values(value=x))",
        "tx.execute(update(memory_facts).values({'value': x}))",
        "tx.execute(update(memory_facts).values(**given))",
        "tx.execute(memory_facts.insert(), rows)",
        "tx.execute(update(schema.memory_fact_versions).values(value=x))",
        "table = memory_facts\ntx.execute(insert(table))",
        "put(memory_facts, {'value': x})",
        "tx.execute(text('INSERT INTO memory_facts (value) VALUES (:v)'))",
        "tx.execute('UPDATE memory_candidates SET value = 1')",
        "fact = ValidFact(key, value, category)",
        "fact = replace(fact, value=other)",
    ],
)
def test_a_way_past_the_gate_is_found(rogue: str) -> None:
    assert ways_past_the_gate("memory.facts.rogue", SCHEMA + VERBS + rogue)


@pytest.mark.parametrize(
    "harmless",
    [
        "tx.execute(select(memory_facts).where(own(memory_facts)))",
        "tx.execute(update(memory_facts).where(a).values(last_used_at=now))",
        "tx.execute(insert(turns).values(value=x))",
        "tx.execute(delete(memory_facts))",
        "_delete_all(tx, memory_facts)",
        "fact = replace(fact, category=other)",
    ],
)
def test_reading_deleting_and_marking_is_left_alone(harmless: str) -> None:
    assert ways_past_the_gate("memory.turns.steps", SCHEMA + VERBS + harmless) == []


def test_a_writing_module_writes_only_valid_facts() -> None:
    module = "memory.facts.upserting"
    direct = "def put(tx, value: str): tx.execute(insert(memory_facts).values(value=value))"
    behind = (
        "_ADD = insert(memory_facts)\ndef _put(tx, v): tx.execute(_ADD, v)\nasync def put(tx, v): await _put(tx, v)"
    )
    for source in (direct, behind):
        assert ways_past_the_gate(module, SCHEMA + VERBS + source)
        gated = source.replace("def put(tx, ", "def put(tx, fact: ValidFact, ")
        assert ways_past_the_gate(module, SCHEMA + VERBS + gated) == []
