"""Promise 1: an accepted turn is never lost and takes effect once, whatever process is killed and whenever.

Real processes die by SIGKILL at the registered crash points. Afterwards the turn has ended, was finished once and
curated once, its effects happened once, and the invariants hold.
"""

import asyncio
import json
from collections import Counter

import httpx2
import pytest
from tests.support.conversation import Conversation, conversation
from tests.support.processes import Processes
from tests.support.waiting import wait_for

from common.crash_points import CrashPoint

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(180)]

SAVING_AND_SEARCHING = "记住我对坚果过敏。想找一个通勤双肩包，500 元以内，寄德国"

AGENT_POINTS = (
    CrashPoint.AGENT_CLAIMED,
    CrashPoint.AGENT_MODEL_ANSWERED,
    CrashPoint.AGENT_STEP_STORED,
    CrashPoint.AGENT_TOOL_EFFECT_DONE,
    CrashPoint.AGENT_RESULTS_STORED,
    CrashPoint.AGENT_BEFORE_FINISH,
    CrashPoint.AGENT_FINISHED,
    CrashPoint.AGENT_PUBLISHED,
)
CURATOR_POINTS = (
    CrashPoint.CURATOR_CLAIMED,
    CrashPoint.CURATOR_MODEL_ANSWERED,
    CrashPoint.CURATOR_INGESTED,
)
MEMORY_POINTS = (
    CrashPoint.MEMORY_ACCEPT_COMMITTED,
    CrashPoint.MEMORY_FINISH_COMMITTED,
    CrashPoint.MEMORY_INGEST_COMMITTED,
)


def test_every_crash_point_is_tried() -> None:
    tried = {
        *AGENT_POINTS,
        *CURATOR_POINTS,
        *MEMORY_POINTS,
        CrashPoint.GATEWAY_ACCEPTED,
        CrashPoint.MEMORY_SWEEP_MARKED,
        CrashPoint.MEMORY_REPLAY_BEGUN,
    }
    assert tried == set(CrashPoint)


@pytest.fixture(scope="module")
async def steps_of_a_clean_run(processes: Processes) -> Counter[str]:
    """What the same turn stores when nobody dies: the kinds of model calls."""
    async with conversation(processes) as user:
        await user.curated(await user.say(SAVING_AND_SEARCHING))
        return Counter(call["kind"] for call in await user.usage())


async def settled_once(user: Conversation, turn_id: str, clean: Counter[str]) -> None:
    view = await user.curated(turn_id)
    assert view["status"] == "completed", view
    assert view["curation"] == "done"
    fact = (await user.facts())["nut_allergy"]
    assert fact["evidence"] == 1
    history = await user.client.get(f"/api/preferences/{user.user}/nut_allergy/history")
    assert history.json()["versions"] == [], "written twice"
    assert Counter(call["kind"] for call in await user.usage()) == clean, "a stored step was paid or done again"
    await user.processes.check_invariants()


@pytest.mark.parametrize("point", AGENT_POINTS)
async def test_the_agent_dies(processes: Processes, steps_of_a_clean_run: Counter[str], point: CrashPoint) -> None:
    await processes.stop("agent")
    fuse = await processes.start_armed("agent", point)
    async with conversation(processes) as user:
        turn_id = await user.say(SAVING_AND_SEARCHING)
        assert await processes.wait_ended("agent") == -9
        assert not fuse.exists(), "died somewhere else"
        await processes.start("agent")
        await settled_once(user, turn_id, steps_of_a_clean_run)


@pytest.mark.parametrize("point", CURATOR_POINTS)
async def test_the_curator_dies(processes: Processes, steps_of_a_clean_run: Counter[str], point: CrashPoint) -> None:
    await processes.stop("curator")
    fuse = await processes.start_armed("curator", point)
    async with conversation(processes) as user:
        turn_id = await user.say(SAVING_AND_SEARCHING)
        assert await processes.wait_ended("curator") == -9
        assert not fuse.exists()
        await processes.start("curator")
        await settled_once(user, turn_id, steps_of_a_clean_run)


@pytest.mark.parametrize("point", MEMORY_POINTS)
async def test_memory_dies_after_its_commit(
    processes: Processes, steps_of_a_clean_run: Counter[str], point: CrashPoint
) -> None:
    async with conversation(processes) as user:
        await processes.stop("memory")
        fuse = await processes.start_armed("memory", point)

        async def restarted() -> None:
            assert await processes.wait_ended("memory") == -9
            assert not fuse.exists()
            await processes.start("memory")

        turn_id, _ = await asyncio.gather(user.insist(SAVING_AND_SEARCHING, "the-same-key"), restarted())
        turns = (await user.client.get(f"/api/sessions/{user.session_id}/turns")).json()["turns"]
        assert [turn["turn_id"] for turn in turns] == [turn_id]
        await settled_once(user, turn_id, steps_of_a_clean_run)


async def test_memory_dies_between_marking_work_and_publishing_it(
    processes: Processes, steps_of_a_clean_run: Counter[str]
) -> None:
    async with conversation(processes) as user:
        await processes.stop("agent")
        turn_id = await user.say(SAVING_AND_SEARCHING)
        await processes.stop("memory")
        await processes.restart_valkey_empty()  # so that the sweeper has something to publish
        fuse = await processes.start_armed("memory", CrashPoint.MEMORY_SWEEP_MARKED, wait=False)
        assert await processes.wait_ended("memory") == -9
        assert not fuse.exists()
        await processes.start("memory")
        await processes.start("agent")
        await settled_once(user, turn_id, steps_of_a_clean_run)


async def test_memory_dies_between_beginning_a_replay_and_publishing_it(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say(SAVING_AND_SEARCHING)
        await user.curated(turn_id)
        before = await user.facts()
        await processes.stop("memory")
        fuse = await processes.start_armed("memory", CrashPoint.MEMORY_REPLAY_BEGUN)
        chosen = ("--session", user.session_id, "--detach", "--json")
        job = json.loads(await processes.memory_command("replay", "start", *chosen))
        assert job["turns"]["waiting"] == 1
        assert await processes.wait_ended("memory") == -9
        assert not fuse.exists()
        await processes.start("memory")
        told = await processes.memory_command("replay", "show", job["job_id"], "--watch", "--json")
        report = json.loads(told)
        assert (report["job"]["state"], report["job"]["turns"]["done"]) == ("finished", 1)
        assert [turn["turn_id"] for turn in report["turns"]] == [turn_id]
        assert await user.facts() == before
        await processes.check_invariants()


async def test_the_gateway_dies_between_accepting_and_publishing(
    processes: Processes, steps_of_a_clean_run: Counter[str]
) -> None:
    async with conversation(processes) as user:
        await processes.stop("gateway")
        fuse = await processes.start_armed("gateway", CrashPoint.GATEWAY_ACCEPTED)
        with pytest.raises(httpx2.TransportError):
            await user.post(SAVING_AND_SEARCHING, key="my-key")
        assert await processes.wait_ended("gateway") == -9
        assert not fuse.exists()
        await processes.start("gateway")
        turn_id = await user.say(SAVING_AND_SEARCHING, key="my-key")
        turns = (await user.client.get(f"/api/sessions/{user.session_id}/turns")).json()["turns"]
        assert [turn["turn_id"] for turn in turns] == [turn_id], "the same key is the same turn"
        await settled_once(user, turn_id, steps_of_a_clean_run)


async def test_memory_is_restarted_in_mid_turn(processes: Processes, steps_of_a_clean_run: Counter[str]) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say(SAVING_AND_SEARCHING + " [[offline:slow=0.02]]")

        async def running() -> bool:
            return bool((await user.turn(turn_id))["steps"])

        await wait_for(running, "the first step is stored")
        await processes.restart("memory")
        await settled_once(user, turn_id, steps_of_a_clean_run)


async def test_valkey_is_killed_and_emptied(processes: Processes) -> None:
    """With turns accepted, running and completed; the subscribers work again without a restart."""
    async with (
        conversation(processes) as before,
        conversation(processes) as running,
        conversation(processes) as during,
        conversation(processes) as after,
    ):
        completed = await before.say(SAVING_AND_SEARCHING)
        await before.ended(completed)
        slow = await running.say(SAVING_AND_SEARCHING + " [[offline:slow=0.02]]")

        async def started() -> bool:
            return bool((await running.turn(slow))["status"] == "running")

        await wait_for(started, "the slow turn runs")
        processes.valkey.kill()
        accepted = await during.say(SAVING_AND_SEARCHING)
        await processes.valkey.start()
        for user, turn_id in ((before, completed), (running, slow), (during, accepted)):
            view = await user.curated(turn_id)
            assert (view["status"], view["curation"]) == ("completed", "done")
        await processes.check_invariants()
        view = await after.curated(await after.say(SAVING_AND_SEARCHING))
        assert (view["status"], view["curation"]) == ("completed", "done")
        for name in ("agent", "curator", "gateway", "memory"):
            await processes.wait_ready(name)
