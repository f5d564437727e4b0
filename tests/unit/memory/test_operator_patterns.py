"""MEMORY_PII_PATTERNS: what an operator adds to the gate, refused at start when it cannot be used."""

import re
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from memory.facts.gate import FactRefusal, ValidFact, find_identifier, validate_fact
from memory.facts.gate.operator_patterns import operator_rules
from memory.policy import Policy
from memory.settings import MemorySettings


def settings(monkeypatch: pytest.MonkeyPatch, patterns: str) -> MemorySettings:
    monkeypatch.setenv("MEMORY_PII_PATTERNS", patterns)
    secret = SecretStr("x")
    return MemorySettings(
        memory_database_url=secret,
        memory_dispatch_database_url=secret,
        redis_url=secret,
        memory_master_key_file=Path("unused"),
        service_token_gateway=secret,
        service_token_agent=secret,
        service_token_curator=secret,
        service_token_operator=secret,
    )


def test_an_operators_pattern_comes_after_the_built_in_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = Policy.of(settings(monkeypatch, r'{"employee-number": "emp-\\d{4}"}')).identifier_rules
    assert validate_fact("badge", "我是 ＥＭＰ-1234", None, rules) == FactRefusal("operator-employee-number", "badge")
    assert validate_fact("badge", "EMP-一二三四", None, rules) == FactRefusal("operator-employee-number", "badge")
    assert validate_fact("EMP-1234", "v", None, rules) == FactRefusal("operator-employee-number", None)
    assert validate_fact("k", "13800138000", None, rules) == FactRefusal("identifier-number", "k")
    assert isinstance(validate_fact("k", "EMP-12", None, rules), ValidFact)


def test_without_patterns_the_built_in_rules_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    for nothing in ("", "{}"):
        assert Policy.of(settings(monkeypatch, nothing)) == Policy()


@pytest.mark.parametrize(
    ("patterns", "told"),
    [
        ("not json", "must be a JSON object"),
        ('["a"]', "dictionary"),
        ('{"a": 1}', "string"),
        ('{"Bad Name": "x"}', "Bad Name"),
        ('{"broken": "("}', "'broken' is not RE2 syntax"),
        (r'{"behind": "(?<=a)b"}', "'behind' is not RE2 syntax"),
        ('{"all": "x*"}', "'all' matches an empty text"),
    ],
)
def test_what_cannot_be_used_stops_the_start(monkeypatch: pytest.MonkeyPatch, patterns: str, told: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(told)):
        settings(monkeypatch, patterns)


def test_a_pattern_that_would_backtrack_for_ever_ends() -> None:
    rules = operator_rules({"evil": "(a+)+$"})
    assert find_identifier("a" * 5_000 + "!", rules) is None
