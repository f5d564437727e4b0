"""Open event streams while Valkey is killed, emptied and started again, and while memory does not answer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from tests.support.event_stream import event_stream
from tests.support.servers import ValkeyServer
from tests.support.serving import RunningGateway, running_gateway
from tests.support.waiting import wait_for

from common.memory_api.base import Owner
from common.memory_api.turns import CurationState, StepView, TurnStatus, TurnView
from common.streams.progress import ProgressEvent, ProgressWriter

ALICE = Owner(tenant_id="shop", user_id="alice")
ENDED = {"status": TurnStatus.COMPLETED, "reply": "好的。", "curation": CurationState.DONE}
WHOLE_END = ["turn.snapshot", "turn.completed", "memory.updated"]


@pytest.fixture
async def gateway(own_valkey: ValkeyServer, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    async with running_gateway(own_valkey.url, tmp_path) as running:
        yield running


@pytest.fixture
async def redis(own_valkey: ValkeyServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(own_valkey.url) as client:
        yield client


@pytest.fixture
def turn(gateway: RunningGateway) -> TurnView:
    return gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)


async def kill(valkey: ValkeyServer, gateway: RunningGateway) -> None:
    valkey.kill()
    await wait_for(lambda: not gateway.reader.connected, "the gateway has noticed")


async def restart(valkey: ValkeyServer, gateway: RunningGateway) -> None:
    await valkey.start()
    await wait_for(lambda: gateway.reader.connected, "the gateway reads again")


async def test_a_turn_that_ends_while_valkey_is_down_is_told(
    gateway: RunningGateway, own_valkey: ValkeyServer, redis: Redis, turn: TurnView
) -> None:
    await ProgressWriter(redis, turn.turn_id, attempt=1).emit(ProgressEvent.TURN_STARTED, {})
    async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
        assert (await stream.next()).event == "turn.started"
        await kill(own_valkey, gateway)
        gateway.memory.change_turn(turn.turn_id, **ENDED)
        assert [item.event for item in await stream.rest()] == WHOLE_END


async def test_an_outage_is_looked_into_before_the_silence_is_over(
    own_valkey: ValkeyServer, redis: Redis, tmp_path: Path
) -> None:
    async with running_gateway(own_valkey.url, tmp_path, silence_seconds=60) as gateway:
        turn = gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)
        await ProgressWriter(redis, turn.turn_id, attempt=1).emit(ProgressEvent.TURN_STARTED, {})
        async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
            assert (await stream.next()).event == "turn.started"
            await wait_for(lambda: gateway.reader.watched_turns == 1, "the turn is watched")
            gateway.memory.change_turn(turn.turn_id, **ENDED)
            await kill(own_valkey, gateway)
            async with asyncio.timeout(5):
                assert [item.event for item in await stream.rest()] == WHOLE_END


async def test_a_turn_that_goes_on_after_valkey_was_emptied_is_told(
    gateway: RunningGateway, own_valkey: ValkeyServer, redis: Redis, turn: TurnView
) -> None:
    writer = ProgressWriter(redis, turn.turn_id, attempt=1)
    await writer.emit(ProgressEvent.TURN_STARTED, {})
    async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
        started = await stream.next()
        await kill(own_valkey, gateway)
        await writer.emit(ProgressEvent.TEXT_DELTA, {"text": "lost"})
        gateway.memory.change_turn(turn.turn_id, steps=[StepView(text="lost", tools=[])])
        await restart(own_valkey, gateway)
        await writer.emit(ProgressEvent.TEXT_DELTA, {"text": "seen"})
        received = await stream.until("text.delta")
        assert {item.event for item in received[:-1]} == {"turn.snapshot"}
        assert received[-2].data["steps"] == [{"text": "lost", "tools": []}]
        assert received[-1].data["text"] == "seen"
        await writer.emit(ProgressEvent.TURN_COMPLETED, {"reply": "好的。", "items": []})
        assert (await stream.next()).event == "turn.completed"
        gateway.memory.change_turn(turn.turn_id, **ENDED)
        assert [item.event for item in await stream.rest()] == ["memory.updated"]
        # And a client that dropped before all this gets the whole of it, too.
        async with event_stream(client, turn.turn_id, started.id) as resumed:
            assert [item.event for item in await resumed.rest()] == WHOLE_END


async def test_a_stream_that_is_emptied_under_the_reader_is_told(
    gateway: RunningGateway, redis: Redis, turn: TurnView
) -> None:
    writer = ProgressWriter(redis, turn.turn_id, attempt=1)
    await writer.emit(ProgressEvent.TURN_STARTED, {})
    async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
        await stream.next()
        await redis.flushall()
        await writer.emit(ProgressEvent.TEXT_DELTA, {"text": "next"})
        following = await stream.next()
        assert (following.event, following.data["n"]) == ("text.delta", 2)
        await redis.flushall()
        gateway.memory.change_turn(turn.turn_id, **ENDED)
        assert [item.event for item in await stream.rest()] == WHOLE_END


async def test_a_stream_may_be_opened_while_valkey_is_down(
    gateway: RunningGateway, own_valkey: ValkeyServer, redis: Redis, turn: TurnView
) -> None:
    async with gateway.client(ALICE) as client:
        async with event_stream(client, turn.turn_id):
            await wait_for(lambda: gateway.reader.watched_turns == 1, "the turn is watched")
            await kill(own_valkey, gateway)
        async with event_stream(client, turn.turn_id) as stream:
            assert (await stream.next()).data["status"] == "running"
            await restart(own_valkey, gateway)
            writer = ProgressWriter(redis, turn.turn_id, attempt=1)
            await writer.emit(ProgressEvent.TURN_STARTED, {})
            assert (await stream.next()).event == "turn.started"
            gateway.memory.change_turn(turn.turn_id, **ENDED)
            assert [item.event for item in await stream.rest()] == WHOLE_END


async def test_a_gap_while_memory_is_down_is_closed_later(
    gateway: RunningGateway, redis: Redis, turn: TurnView
) -> None:
    writer = ProgressWriter(redis, turn.turn_id, attempt=1)
    await writer.emit(ProgressEvent.TURN_STARTED, {})
    async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
        await stream.next()
        gateway.memory.down = True
        writer._n += 1
        await writer.emit(ProgressEvent.TEXT_DELTA, {"text": "after a gap"})
        assert (await stream.next()).data["text"] == "after a gap"
        gateway.memory.down = False
        async with asyncio.timeout(5):
            assert (await stream.next()).event == "turn.snapshot"
        gateway.memory.change_turn(turn.turn_id, **ENDED)
        assert [item.event for item in await stream.rest()] == WHOLE_END
