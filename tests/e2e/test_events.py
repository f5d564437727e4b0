"""Progress over SSE: a client that drops in mid-stream loses nothing, whatever happens to Redis meanwhile."""

import asyncio
from uuid import UUID

import pytest
from redis.asyncio import Redis
from tests.support.conversation import SseEvent, conversation
from tests.support.processes import Processes

from common.streams.names import progress_stream

pytestmark = pytest.mark.timeout(120)

SLOW = "找一个通勤双肩包，500 元以内 [[offline:slow=0.02]]"


def text_of(events: list[SseEvent]) -> str:
    return "".join(event.data["text"] for event in events if event.name == "text.delta")


async def test_a_turn_is_told_from_its_start_to_its_memory(processes: Processes) -> None:
    async with conversation(processes) as user:
        events = [event async for event in user.events(await user.say("我对坚果过敏，找一个背包"))]
        names = [event.name for event in events]
        assert names[0] == "turn.started"
        assert names.count("turn.completed") == 1
        assert names[-1] == "memory.updated"
        assert "tool.started" in names
        assert "tool.finished" in names
        numbers = [event.data["n"] for event in events if "n" in event.data]
        assert numbers == list(range(1, len(numbers) + 1)), "no event is missing or told twice"
        outcomes = {outcome["key"]: outcome["action"] for outcome in events[-1].data["outcomes"]}
        assert outcomes["nut_allergy"] == "added"


async def test_a_client_that_drops_resumes_exactly(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say(SLOW)
        first: list[SseEvent] = []
        async for event in user.events(turn_id):
            first.append(event)
            if len(first) == 12:
                break
        rest = [event async for event in user.events(turn_id, after=first[-1].entry_id)]
        whole = [event async for event in user.events(turn_id)]
        told = [event.entry_id for event in first + rest if event.entry_id]
        assert told == [event.entry_id for event in whole if event.entry_id]
        assert len(told) == len(set(told))


async def test_a_stream_that_has_expired_is_replaced_by_the_snapshot_and_the_end(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say("找一个背包")
        await user.curated(turn_id)
        async with Redis.from_url(processes.redis_url) as redis:
            assert await redis.delete(progress_stream(UUID(turn_id))) == 1
        for after in (None, "1-0", "not an id"):
            events = [event async for event in user.events(turn_id, after=after)]
            names = [event.name for event in events]
            assert names == ["turn.snapshot", "turn.completed", "memory.updated"]
            assert events[1].data["reply"] == (await user.turn(turn_id))["reply"]


async def test_a_watcher_gets_the_end_although_valkey_was_emptied_meanwhile(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say(SLOW)
        names: list[str] = []
        async for event in user.events(turn_id):
            names.append(event.name)
            if len(names) == 5:
                await processes.restart_valkey_empty()
        assert names.count("turn.completed") == 1
        assert names[-1] == "memory.updated"
        assert "turn.snapshot" in names


async def test_the_turn_goes_on_without_a_watcher(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say(SLOW)
        async for _ in user.events(turn_id):
            break
        assert (await user.ended(turn_id))["status"] == "completed"


async def test_watchers_of_one_turn_see_the_same(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say(SLOW)

        async def watch() -> list[str | None]:
            return [event.entry_id async for event in user.events(turn_id) if event.entry_id]

        seen = await asyncio.gather(*(watch() for _ in range(4)))
        assert all(each == seen[0] for each in seen)
