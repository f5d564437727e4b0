"""Aims for measured keys, and whether they were met."""

from collections.abc import Mapping
from typing import Any, Literal

Aim = tuple[Literal["<", "<=", ">", ">=", "=="], float]

_HOLDS = {
    "<": lambda value, bound: value < bound,
    "<=": lambda value, bound: value <= bound,
    ">": lambda value, bound: value > bound,
    ">=": lambda value, bound: value >= bound,
    "==": lambda value, bound: value == bound,
}


def aims_met(result: Mapping[str, Any], aims: Mapping[str, Aim]) -> dict[str, bool]:
    """For every aim whose key was measured."""
    found = ((path, value_at(result, path), aim) for path, aim in aims.items())
    return {path: _HOLDS[relation](value, bound) for path, value, (relation, bound) in found if value is not None}


def value_at(result: Mapping[str, Any], path: str) -> Any:
    value: Any = result
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
