"""Plays every scenario of this folder against the running system; the format is told in
tests/support/scenarios/scenario.py.

What must hold of every turn is checked too, whatever its scenario says: it has an answer, its log is valid, and each
request to the main model extends the one before.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.conversation import conversation
from tests.support.processes import Processes
from tests.support.scenarios.checks import failures
from tests.support.scenarios.observed import ObservedTurn
from tests.support.scenarios.playing import Player
from tests.support.scenarios.scenario import Scenario, scenarios_in
from tests.support.stored_sessions import StoredSessions, stored_sessions

pytestmark = pytest.mark.timeout(180)

SCENARIOS = [pytest.param(scenario, id=name) for name, scenario in scenarios_in(Path(__file__).parent)]


@pytest.fixture(scope="module")
async def sessions(processes: Processes) -> AsyncIterator[StoredSessions]:
    async with stored_sessions(processes) as opened:
        yield opened


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_scenario(scenario: Scenario, processes: Processes, sessions: StoredSessions) -> None:
    async with conversation(processes) as talking:
        player = Player(talking, sessions)
        await player.set_up(scenario.given)
        for number, turn in enumerate(scenario.turns, start=1):
            observed = await player.play(turn)
            wrong = failures(turn.expect, observed)
            assert not wrong, "\n".join([f"turn {number} 「{turn.say}」", *wrong, *_seen(observed)])


def _seen(observed: ObservedTurn) -> list[str]:
    """For whoever reads the failure."""
    steps = [[(call.tool, call.arguments) for call in step] for step in observed.steps]
    return ["seen:", *(f"  {step}" for step in steps), f"  reply: {observed.reply}", f"  plan: {observed.plan}"]
