"""The parts of `make eval-memory`. A part is a module with `measure` and `AIMS`, and a line here."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.memory import dedupe, evidence, gate, helps, size
from bench.memory.aims import Aim


@dataclass(frozen=True)
class Part:
    tells: str
    measure: Callable[[], Awaitable[dict[str, Any]]]
    """Measures, prints what a reader wants to see, and returns the part's keys (nested: {"gate": {…}})."""
    aims: Mapping[str, Aim]
    """By the path of a key, as in `gate.in_scope.false_accept`."""


PARTS: dict[str, Part] = {
    "dedupe": Part("whether a changed preference ends in its new state", dedupe.measure, dedupe.AIMS),
    "evidence": Part("what is kept where the model proposes whatever it sees", evidence.measure, evidence.AIMS),
    "gate": Part("what validate_fact refuses and lets through, and what it costs", gate.measure, gate.AIMS),
    "helps": Part("answers that respect what was said in an earlier session", helps.measure, helps.AIMS),
    "size": Part("reading and ingesting with a million facts", size.measure, size.AIMS),
}
