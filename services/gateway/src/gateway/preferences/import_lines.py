"""JSON lines into facts. Pure. A line that cannot be read is told so and does not stop the others."""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from common.memory_api.facts import IMPORT_MAX_FACTS, ProposedFact
from common.problems import ProblemCode, ProblemError
from gateway.preferences.schemas import LineOutcome, LineResult

_FIELDS = ("key", "value", "category")


def read_lines(body: bytes) -> dict[int, ProposedFact | LineOutcome]:
    """By line number: the proposed fact, or what is wrong with the line. Raises ProblemError where there are too many.

    A line is `{"key": …, "value": …, "category": …}`, or a record of an export.
    """
    lines = {number: line for number, line in enumerate(body.split(b"\n"), start=1) if line.strip()}
    if len(lines) > IMPORT_MAX_FACTS:
        raise ProblemError(ProblemCode.INVALID_REQUEST, f"at most {IMPORT_MAX_FACTS} lines")
    return {number: _read(number, line) for number, line in lines.items()}


def _read(number: int, line: bytes) -> ProposedFact | LineOutcome:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return _invalid(number, "not-json")
    if not isinstance(record, dict):
        return _invalid(number, "not-an-object")
    if record.get("type", "fact") != "fact":
        return LineOutcome(line=number, result=LineResult.NOT_A_FACT, key=None)
    fact = record.get("fact", record)
    try:
        return ProposedFact.model_validate(dict(_chosen(fact)))
    except ValidationError as error:
        return _invalid(number, f"{error.errors()[0]['loc'][0]}: {error.errors()[0]['type']}")


def _chosen(fact: Any) -> Iterator[tuple[str, Any]]:
    """Only what a user may say about a fact; where it came from, an import does not decide."""
    return ((name, fact[name]) for name in _FIELDS if isinstance(fact, dict) and name in fact)


def _invalid(number: int, rule: str) -> LineOutcome:
    return LineOutcome(line=number, result=LineResult.INVALID, key=None, rule=rule)
