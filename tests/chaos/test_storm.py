"""Promises 1 to 4 under everything at once: the short form of `make chaos` (`storm/`)."""

from pathlib import Path

import pytest
from tests.chaos.storm.faults import LINKS, REPLICAS, FaultKind, faults
from tests.chaos.storm.run import SMALL, run_storm
from tests.chaos.storm.texts import faults_that_are_missing

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

_ENOUGH = 300


def first_faults(seed: int) -> list[object]:
    schedule = faults(seed)
    return [next(schedule) for _ in range(_ENOUGH)]


def test_a_seed_is_a_schedule() -> None:
    assert first_faults(7) == first_faults(7)
    assert first_faults(7) != first_faults(8)


def test_nothing_is_spared() -> None:
    schedule = faults(7)
    drawn = [next(schedule) for _ in range(_ENOUGH)]
    assert {each.kind for each in drawn[: len(FaultKind)]} == set(FaultKind)
    assert {each.target for each in drawn} >= {*REPLICAS, *LINKS}
    assert faults_that_are_missing() == set()


async def test_every_promise_is_kept_in_a_storm(tmp_path: Path) -> None:
    said: list[str] = []
    result = await run_storm(SMALL, seed=1, directory=tmp_path, report=said.append)
    assert result["broken"] == [], (result, said)
    assert result["accepted"] == SMALL.turns
    assert result["kills"] > 0
    assert result["connections_broken"] > 0
    assert result["clears"] > 0
    assert result["facts_written"] > 0
