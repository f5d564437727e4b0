"""The gate on one-line texts that nobody on the project wrote (`pii_cases.jsonl`), and what it costs.

- **in_scope**: rows that the written rule decides, plainly or after folding. `false_accept` is the share of rows to
  refuse that were let through, `false_reject` the share of ordinary ones that were refused. Contested rows do not
  count.
- **beyond**: personal data that the written rule does not name.
- **conflict**: rows to let through although the written rule, taken by the letter, refuses them.
- **us_per_value**: CPU time of `validate_fact` for an ordinary value of the data, on average.
- **us_per_hostile_value**: the same for the worst of the hostile values, at the longest length that can be stored.
- **hostile_growth**: how much more than four times as long the rules take for four times as long a hostile text, at
  worst; 1 is linear, 4 would be quadratic.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from statistics import mean
from typing import Any

from bench.memory.aims import Aim
from bench.memory.shared_data import json_lines

from common.memory_api.facts import VALUE_MAX
from memory.facts.gate import BUILT_IN_RULES, FactRefusal, find_identifier, validate_fact

AIMS: dict[str, Aim] = {
    "gate.in_scope.false_accept": ("<=", 0.005),
    "gate.in_scope.false_reject": ("<=", 0.01),
    "gate.us_per_value": ("<", 100.0),
    "gate.hostile_growth": ("<", 2.0),
}

_SCOPES = {"literal": "in_scope", "obfuscated": "in_scope", "beyond": "beyond", "conflict": "conflict"}
_KEY = "note"

# Pieces that make many starts for a rule and a match for none, repeated to any length.
HOSTILE = (
    *("12345678a", "1-2-3 4a", "12/3456/78 ", "123/456/789~", "+1234567 ", "((((((1", "2018-01-01-", "10 12 "),
    *("10,12,", "1.1-", "1-2-", "138,1", "_1", "a@b ", "a at b.", "x at y dot ", "a.", "de12 ", "gb82west"),
    *("<system", "<", "a-", "aB1", "12 a b ", "路", "1号", "1单元", "北京市", "ship to ", "电话 1234567 ", "one "),
    *("one two 3 ", "微信号 a", "password is x", "密码", "passport ", "1 ext ", "gb ", "zzzzzzzzz ", " ", "长"),
    *("\ufdfa", "1\u200b", "一", "1\u0331"),
)


async def measure() -> dict[str, Any]:
    rows = [row for row in json_lines("pii_cases.jsonl") if not row["contested"]]
    wrong = [row for row in rows if refuses(row["text"]) != (row["expect"] == "reject")]
    _print_by_kind(rows, wrong)
    ordinary = [row["text"] for row in rows if row["expect"] == "accept" and len(row["text"]) <= VALUE_MAX]
    result: dict[str, Any] = {scope: _shares(rows, wrong, scope) for scope in dict.fromkeys(_SCOPES.values())}
    result["us_per_value"] = round(mean(_microseconds(partial(_validate, text)) for text in ordinary), 1)
    hostile = [(piece * VALUE_MAX)[:VALUE_MAX] for piece in HOSTILE]
    result["us_per_hostile_value"] = round(max(_microseconds(partial(_validate, text)) for text in hostile), 1)
    result["hostile_growth"] = round(max(map(_growth, HOSTILE)), 2)
    return {"gate": result}


def refuses(text: str) -> bool:
    """Whether the door refuses it for what it is; the length of the text is not in question here."""
    if len(text) > VALUE_MAX:
        return find_identifier(text, BUILT_IN_RULES) is not None
    return isinstance(_validate(text), FactRefusal)


def _validate(text: str) -> object:
    return validate_fact(_KEY, text, None, BUILT_IN_RULES)


def _shares(rows: Sequence[dict[str, Any]], wrong: Sequence[dict[str, Any]], scope: str) -> dict[str, Any]:
    count = Counter((_SCOPES[row["scope"]], row["expect"]) for row in rows)
    missed = Counter((_SCOPES[row["scope"]], row["expect"]) for row in wrong)
    return {
        "false_accept": _share(missed[scope, "reject"], count[scope, "reject"]),
        "false_reject": _share(missed[scope, "accept"], count[scope, "accept"]),
        "rows": count[scope, "reject"] + count[scope, "accept"],
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _print_by_kind(rows: Sequence[dict[str, Any]], wrong: Sequence[dict[str, Any]]) -> None:
    """Kinds and ids only: the texts are personal data by design."""
    for (scope, expect, kind), count in sorted(Counter(map(_kind, rows)).items()):
        ids = [row["id"] for row in wrong if _kind(row) == (scope, expect, kind)]
        print(f"{scope:10} {expect:7} {kind:24} {len(ids):3} of {count:3} wrong  {' '.join(ids)}")


def _kind(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["scope"], row["expect"], row["kind"]


def _growth(piece: str) -> float:
    short, long = ((piece * length)[:length] for length in (2_500, 10_000))
    look = partial(find_identifier, rules=BUILT_IN_RULES)
    return _microseconds(partial(look, long)) / _microseconds(partial(look, short)) / 4


def _microseconds(call: Callable[[], object], rounds: int = 5) -> float:
    """CPU time of the fastest of some rounds: what else the machine does is not in question."""
    return min(_once(call) for _ in range(rounds)) / 1_000


def _once(call: Callable[[], object]) -> int:
    started_at = time.process_time_ns()
    call()
    return time.process_time_ns() - started_at
