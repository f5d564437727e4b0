"""Promises 1 to 6 over everything that can happen to a turn (`machine.py`), on two stores with one behaviour.

`specification/` says in plain Python what must be answered; on it alone, many lives are tried. `served.py` is the
memory service on PostgreSQL and Valkey: fewer lives, in which it must answer what the specification answers.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.integration.memory.turn_life.machine import TurnLifeMachine
from tests.integration.memory.turn_life.served import ServedTurnLife
from tests.integration.memory.turn_life.specification.store import SpecifiedTurnLife
from tests.integration.memory.turn_life.vocabulary import TurnLife
from tests.integration.memory.turn_life.workers import AGENT_STEPS, ANSWERS_LOST, CURATOR_STEPS, ELSEWHERE

from common.crash_points import CrashPoint
from common.memory_api import operations as op
from common.memory_api.dispatch import CheckInvariants
from devstack.database import DatabaseUrls

_CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


class OnTheSpecification(TurnLifeMachine):
    def begin_stores(self) -> list[TurnLife]:
        return [SpecifiedTurnLife()]


class OnTheRealServers(TurnLifeMachine):
    served: ServedTurnLife

    def begin_stores(self) -> list[TurnLife]:
        self.served.begin()
        return [SpecifiedTurnLife(), self.served]

    def teardown(self) -> None:
        super().teardown()
        report = self.served.ask(op.CHECK_INVARIANTS, CheckInvariants())
        assert report.clean, report.violations
        self.served.end()


def test_every_crash_point_has_its_place() -> None:
    assert {*AGENT_STEPS, *CURATOR_STEPS, *ANSWERS_LOST, *ELSEWHERE} == set(CrashPoint)


def test_the_specification_keeps_every_promise() -> None:
    run_state_machine_as_test(
        OnTheSpecification,
        settings=settings(max_examples=100, stateful_step_count=40, deadline=None, suppress_health_check=_CHECKS),
    )


@pytest.mark.timeout(300)
def test_the_memory_service_answers_as_specified(module_database: DatabaseUrls, valkey: str, tmp_path: Path) -> None:
    OnTheRealServers.served = ServedTurnLife(module_database, valkey, tmp_path)
    try:
        run_state_machine_as_test(
            OnTheRealServers,
            settings=settings(
                max_examples=15,
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=_CHECKS,
                phases=[Phase.reuse, Phase.generate],  # making a failing life shorter would take many minutes
            ),
        )
    finally:
        OnTheRealServers.served.close()
