"""Plays the scenarios through the whole system, one turn after the other, and takes what was sent to the model."""

from dataclasses import dataclass

from bench.cache.calls import Call, with_answers
from bench.cache.conversations import Scenario
from bench.cache.recorder import Recorder
from bench.system import System

from common.memory_api.usage import CacheUsage, TurnModelCall
from common.usage_rates import cache_usage
from devstack.gateway_client import GatewayClient

TENANT = "bench"


@dataclass(frozen=True)
class Recording:
    """A scenario's calls in the order in which they were sent, and what the system itself tells of them."""

    scenario: Scenario
    calls: list[Call]
    told: CacheUsage


async def play(system: System, recorder: Recorder, scenario: Scenario) -> Recording:
    told: list[TurnModelCall] = []
    for number, session in enumerate(scenario.sessions):
        client = GatewayClient(system.stack.gateway_url, system.stack.token(TENANT, session.user))
        try:
            session_id = await client.create_session()
            for turn, words in enumerate(session.turns, start=1):
                recorder.at(number, turn)
                await _say(client, session_id, words)
            told += (await client.usage(session_id)).calls
        finally:
            await client.close()
    return Recording(scenario, with_answers(recorder.taken()), cache_usage(told))


async def _say(client: GatewayClient, session_id: str, words: str) -> None:
    """Until the turn's curation is over too. A figure over turns that failed would say nothing."""
    turn_id = await client.post_turn(session_id, words)
    ended = [event.kind async for event in client.events(turn_id) if event.ends_answer]
    if ended != ["turn.completed"]:
        raise SystemExit(f"the turn 「{words}」 ended as {ended}")
