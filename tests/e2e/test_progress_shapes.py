"""What the services really write to a turn's stream has the shapes that are promised to clients."""

import json
from uuid import UUID

from redis.asyncio import Redis
from tests.e2e.test_orders import propose
from tests.support.conversation import Conversation, SseEvent, conversation
from tests.support.processes import Processes
from tests.support.waiting import wait_for

from common.streams.names import progress_stream
from common.streams.progress import ProgressEvent
from common.streams.progress_data import PROGRESS_DATA


async def test_every_event_that_is_written_has_its_promised_shape(processes: Processes) -> None:
    async with conversation(processes) as user:
        seen = [
            *await _told(user, "记住我不要塑料的东西，找一个水杯"),
            *await _told(user, "我对坚果过敏，找一个水杯 [[offline:http=400]]"),
            *(await propose(user))[1],
            *await _told_of_a_cancelled_turn(user),
            *await _told_after_the_stream_is_gone(user, processes.redis_url),
        ]
    for event in seen:
        model = PROGRESS_DATA[ProgressEvent(event.name)]
        model.model_validate_json(json.dumps(event.data))  # refuses unknown fields too
    assert {event.name for event in seen} == {event.value for event in PROGRESS_DATA}


async def _told(user: Conversation, text: str) -> list[SseEvent]:
    turn_id = await user.say(text)
    return [event async for event in user.events(turn_id)]


async def _told_of_a_cancelled_turn(user: Conversation) -> list[SseEvent]:
    turn_id = await user.say("找一个背包 [[offline:slow=0.05]]")

    async def running() -> bool:
        return bool((await user.turn(turn_id))["status"] == "running")

    await wait_for(running, "the turn runs")
    assert (await user.client.post(f"/api/turns/{turn_id}/cancel")).status_code == 200
    return [event async for event in user.events(turn_id)]


async def _told_after_the_stream_is_gone(user: Conversation, redis_url: str) -> list[SseEvent]:
    """The gateway then makes the events from what memory knows."""
    turn_id = user.turns[0]
    await user.curated(turn_id)
    async with Redis.from_url(redis_url) as redis:
        await redis.delete(progress_stream(UUID(turn_id)))
    return [event async for event in user.events(turn_id)]
