"""A turn's event stream: exact, resumable, and complete also where the stream in Redis is not."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from tests.support.event_stream import Received, event_stream
from tests.support.serving import RunningGateway, running_gateway
from tests.support.waiting import wait_for

from common.memory_api.base import Owner
from common.memory_api.facts import FactAction, FactOutcome, MemoryCategory
from common.memory_api.turns import CurationState, FailureCode, StepView, TurnStatus, TurnView
from common.streams.names import progress_stream
from common.streams.progress import ProgressEvent, ProgressWriter

ALICE = Owner(tenant_id="shop", user_id="alice")
KEPT = FactOutcome(key="nut_allergy", action=FactAction.ADDED, category=MemoryCategory.CONSTRAINT, value="对坚果过敏")
COMPLETED = {"status": TurnStatus.COMPLETED, "attempt": 1, "reply": "好的。"}
CURATED = {"curation": CurationState.DONE, "memory": [KEPT]}


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
async def gateway(redis_url: str, tmp_path: Path) -> AsyncIterator[RunningGateway]:
    async with running_gateway(redis_url, tmp_path) as running:
        yield running


@pytest.fixture
def running_turn(gateway: RunningGateway) -> TurnView:
    return gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)


@pytest.fixture
def new_turn(gateway: RunningGateway) -> TurnView:
    """One of which there is nothing to tell yet."""
    return gateway.memory.add_turn(ALICE)


async def emit_text(writer: ProgressWriter, *texts: str) -> None:
    offset = 0
    for text in texts:
        await writer.emit(ProgressEvent.TEXT_DELTA, {"step": 1, "offset": offset, "text": text})
        offset += len(text)


async def emit_end(writer: ProgressWriter, redis: Redis, turn: TurnView) -> None:
    """As agent and curator do it."""
    await writer.emit(ProgressEvent.TURN_COMPLETED, {"reply": "好的。", "items": []})
    outcomes = [KEPT.model_dump(mode="json")]
    await ProgressWriter(redis, turn.turn_id).emit(ProgressEvent.MEMORY_UPDATED, {"outcomes": outcomes})


async def emit_turn(redis: Redis, turn: TurnView, *texts: str) -> None:
    writer = ProgressWriter(redis, turn.turn_id, attempt=1)
    await writer.emit(ProgressEvent.TURN_STARTED, {})
    await emit_text(writer, *texts)
    await emit_end(writer, redis, turn)


async def stored(redis: Redis, turn: TurnView) -> list[Received]:
    entries: Any = await redis.xrange(progress_stream(turn.turn_id))
    return [
        Received(entry_id.decode(), fields[b"event"].decode(), json.loads(fields[b"data"]))
        for entry_id, fields in entries
    ]


def names(received: list[Received]) -> list[str]:
    return [item.event for item in received]


async def test_events_come_as_they_are_written(gateway: RunningGateway, redis: Redis, new_turn: TurnView) -> None:
    writer = ProgressWriter(redis, new_turn.turn_id, attempt=1)
    async with gateway.client(ALICE) as client, event_stream(client, new_turn.turn_id) as stream:
        headers = stream.response.headers
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"
        received = []
        for text in ("好", "的", "。"):
            await emit_text(writer, text)
            async with asyncio.timeout(1):
                received.append(await stream.next())
        assert [item.data["text"] for item in received] == ["好", "的", "。"]
        await emit_end(writer, redis, new_turn)
        received += await stream.rest()
    assert received == await stored(redis, new_turn)
    assert names(received)[-2:] == ["turn.completed", "memory.updated"]
    assert stream.retries
    assert 1_000 <= stream.retries[0] <= 2_000


async def test_a_client_may_resume_after_any_event(
    gateway: RunningGateway, redis: Redis, running_turn: TurnView
) -> None:
    await emit_turn(redis, running_turn, *"一二三四五")
    everything = await stored(redis, running_turn)
    async with gateway.client(ALICE) as client:
        for position, item in enumerate(everything, start=1):
            async with event_stream(client, running_turn.turn_id, item.id) as stream:
                assert await stream.rest() == everything[position:]


async def test_a_client_that_keeps_dropping_loses_nothing(
    gateway: RunningGateway, redis: Redis, running_turn: TurnView
) -> None:
    texts = [str(number) for number in range(200)]
    writing = asyncio.create_task(emit_turn(redis, running_turn, *texts))
    received: list[Received] = []
    async with gateway.client(ALICE) as client:
        while not received or received[-1].event != "memory.updated":
            last = received[-1].id if received else None
            async with event_stream(client, running_turn.turn_id, last) as stream:
                for _ in range(7):
                    received.append(await stream.next())
                    if received[-1].event == "memory.updated":
                        break
    await writing
    assert received == await stored(redis, running_turn)


async def test_all_clients_of_a_process_share_one_blocked_read(gateway: RunningGateway, redis: Redis) -> None:
    turns = [gateway.memory.add_turn(ALICE) for _ in range(4)]

    async def follow(turn: TurnView) -> list[Received]:
        async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
            return await stream.rest()

    following = [asyncio.create_task(follow(turn)) for turn in turns]
    await wait_for(lambda: gateway.reader.watched_turns == len(turns), "all turns are watched")

    async def blocked_reads() -> int:
        clients = await redis.client_list()
        return sum(client["cmd"] == "xread" and "b" in client["flags"] for client in clients)

    async def one_is_blocked() -> bool:
        # Between two reads there is none for a moment; more than one there is never.
        count = await blocked_reads()
        assert count <= 1
        return count == 1

    await wait_for(one_is_blocked, "one read waits for all of them")
    await asyncio.gather(*(emit_turn(redis, turn, f"turn {number}") for number, turn in enumerate(turns)))
    assert await asyncio.gather(*following) == [await stored(redis, turn) for turn in turns]
    assert gateway.reader.watched_turns == 0


async def test_a_new_stream_is_heard_while_the_read_is_blocked_for_others(
    redis_url: str, redis: Redis, tmp_path: Path
) -> None:
    async with running_gateway(redis_url, tmp_path, silence_seconds=30) as gateway:
        first, second = gateway.memory.add_turn(ALICE), gateway.memory.add_turn(ALICE)
        async with gateway.client(ALICE) as client, event_stream(client, first.turn_id) as stream:
            await ProgressWriter(redis, first.turn_id, attempt=1).emit(ProgressEvent.TURN_STARTED, {})
            await stream.next()
            async with event_stream(client, second.turn_id) as other:
                await wait_for(lambda: gateway.reader.watched_turns == 2, "both turns are watched")
                await ProgressWriter(redis, second.turn_id, attempt=1).emit(ProgressEvent.TURN_STARTED, {})
                async with asyncio.timeout(2):
                    assert (await other.next()).event == "turn.started"


async def test_a_lower_attempt_is_not_heard_any_more(
    gateway: RunningGateway, redis: Redis, running_turn: TurnView
) -> None:
    first = ProgressWriter(redis, running_turn.turn_id, attempt=1)
    second = ProgressWriter(redis, running_turn.turn_id, attempt=2)
    await first.emit(ProgressEvent.TURN_STARTED, {})
    await second.emit(ProgressEvent.TURN_STARTED, {})
    await emit_text(first, "from a worker that lost its lease")
    await emit_text(second, "好")
    await emit_end(second, redis, running_turn)
    async with gateway.client(ALICE) as client, event_stream(client, running_turn.turn_id) as stream:
        received = await stream.rest()
    assert [item.data.get("attempt") for item in received] == [1, 2, 2, 2, None]


async def test_a_lost_event_brings_a_snapshot(gateway: RunningGateway, redis: Redis, new_turn: TurnView) -> None:
    writer = ProgressWriter(redis, new_turn.turn_id, attempt=1)
    async with gateway.client(ALICE) as client, event_stream(client, new_turn.turn_id) as stream:
        await writer.emit(ProgressEvent.TURN_STARTED, {})
        assert (await stream.next()).event == "turn.started"
        writer._n += 1  # as after an event that could not be written
        await emit_text(writer, "seen")
        snapshot, seen = await stream.next(), await stream.next()
    assert (snapshot.event, snapshot.id) == ("turn.snapshot", None)
    assert snapshot.data["turn_id"] == str(new_turn.turn_id)
    assert seen.data["text"] == "seen"


async def test_a_silent_stream_is_made_up_for(gateway: RunningGateway, running_turn: TurnView) -> None:
    memory, turn_id = gateway.memory, running_turn.turn_id
    async with gateway.client(ALICE) as client, event_stream(client, turn_id) as stream:
        first = await stream.next()
        assert (first.event, first.data["steps"]) == ("turn.snapshot", [])
        memory.change_turn(turn_id, steps=[StepView(text="我来找找。", tools=["item_search"])])
        second = await stream.next()
        assert second.data["steps"] == [{"text": "我来找找。", "tools": ["item_search"]}]
        memory.change_turn(turn_id, **COMPLETED, curation=CurationState.PENDING)
        snapshot, ending = await stream.next(), await stream.next()
        assert (snapshot.event, snapshot.data["status"]) == ("turn.snapshot", "completed")
        assert (ending.event, ending.id) == ("turn.completed", None)
        assert ending.data == {"reply": "好的。", "items": [], "failure": None}
        memory.change_turn(turn_id, **CURATED)
        (update,) = await stream.rest()
    assert update.event == "memory.updated"
    assert update.data == {"outcomes": [KEPT.model_dump(mode="json")]}


async def test_a_turn_that_only_takes_its_time_brings_no_snapshot(redis_url: str, redis: Redis, tmp_path: Path) -> None:
    async with running_gateway(redis_url, tmp_path, silence_seconds=0.1, heartbeat_seconds=0.1) as gateway:
        turn = gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1, steps=[])
        writer = ProgressWriter(redis, turn.turn_id, attempt=1)
        await writer.emit(ProgressEvent.TURN_STARTED, {})
        async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
            await stream.next()
            await wait_for(lambda: gateway.memory.calls.count("turns/get") > 5, "memory was asked several times")
            await emit_text(writer, "好")
            assert (await stream.next()).event == "text.delta"
            # A step that the stream has told is no news either.
            gateway.memory.change_turn(turn.turn_id, steps=[StepView(text="好", tools=[])])
            asked = gateway.memory.calls.count("turns/get")
            await wait_for(lambda: gateway.memory.calls.count("turns/get") > asked + 3, "memory was asked again")
            await emit_text(writer, "的")
            assert (await stream.next()).event == "text.delta"
    assert stream.comments.count("heartbeat") >= 2


@pytest.mark.parametrize(
    ("state", "event", "failure"),
    [
        (COMPLETED, "turn.completed", None),
        ({**COMPLETED, "status": TurnStatus.FAILED, "failure": FailureCode.DEADLINE}, "turn.failed", "deadline"),
        (
            {"status": TurnStatus.CANCELLED, "reply": "已取消。", "failure": FailureCode.CANCELLED_BY_USER},
            "turn.cancelled",
            "cancelled-by-user",
        ),
    ],
)
async def test_a_turn_whose_stream_has_expired_is_told_from_memory(
    gateway: RunningGateway, state: dict[str, Any], event: str, failure: str | None
) -> None:
    turn = gateway.memory.add_turn(ALICE, **state, **CURATED)
    for last_event_id in (None, "1735689600000-3"):
        async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id, last_event_id) as stream:
            snapshot, ending, update = await stream.rest()
        assert snapshot.data["reply"] == state["reply"]
        assert (ending.event, ending.data["failure"]) == (event, failure)
        assert update.data["outcomes"][0]["key"] == "nut_allergy"


async def test_an_ended_turn_is_replayed_while_its_stream_lives(gateway: RunningGateway, redis: Redis) -> None:
    turn = gateway.memory.add_turn(ALICE, **COMPLETED, **CURATED)
    await emit_turn(redis, turn, "好的", "。")
    async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
        assert await stream.rest() == await stored(redis, turn)


async def test_what_is_missing_at_the_end_of_a_stream_is_added(gateway: RunningGateway, redis: Redis) -> None:
    turn = gateway.memory.add_turn(ALICE, **COMPLETED, **CURATED)
    writer = ProgressWriter(redis, turn.turn_id, attempt=1)
    await writer.emit(ProgressEvent.TURN_STARTED, {})
    async with gateway.client(ALICE) as client:
        async with event_stream(client, turn.turn_id) as stream:
            assert names(await stream.rest()) == ["turn.started", "turn.completed", "memory.updated"]
        await writer.emit(ProgressEvent.TURN_COMPLETED, {"reply": "好的。", "items": []})
        async with event_stream(client, turn.turn_id) as stream:
            received = await stream.rest()
    assert names(received) == ["turn.started", "turn.completed", "memory.updated"]
    assert [item.id is None for item in received] == [False, False, True]


async def test_a_curation_told_before_the_end_brings_the_end_first(
    gateway: RunningGateway, redis: Redis, running_turn: TurnView
) -> None:
    async with gateway.client(ALICE) as client, event_stream(client, running_turn.turn_id) as stream:
        await ProgressWriter(redis, running_turn.turn_id, attempt=1).emit(ProgressEvent.TURN_STARTED, {})
        await stream.until("turn.started")
        gateway.memory.change_turn(running_turn.turn_id, **COMPLETED, **CURATED)
        await ProgressWriter(redis, running_turn.turn_id).emit(ProgressEvent.MEMORY_UPDATED, {"outcomes": []})
        assert names(await stream.rest()) == ["turn.snapshot", "turn.completed", "memory.updated"]


async def test_cancelling_ends_the_stream_at_once(redis_url: str, redis: Redis, tmp_path: Path) -> None:
    async with running_gateway(redis_url, tmp_path, silence_seconds=30) as gateway:
        turn = gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)
        writer = ProgressWriter(redis, turn.turn_id, attempt=1)
        await writer.emit(ProgressEvent.TURN_STARTED, {})
        async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
            await stream.next()
            await client.post(f"/api/turns/{turn.turn_id}/cancel")
            async with asyncio.timeout(2):
                cancelled = await stream.next()
            await emit_text(writer, "from an agent that does not know yet")
            gateway.memory.change_turn(turn.turn_id, curation=CurationState.DONE)
            assert names(await stream.rest()) == ["memory.updated"]
    assert cancelled.event == "turn.cancelled"
    assert cancelled.data["reply"] == "已取消。"


async def test_a_curation_that_does_not_come_is_not_waited_for(redis_url: str, redis: Redis, tmp_path: Path) -> None:
    async with running_gateway(redis_url, tmp_path, after_end_seconds=0.6) as gateway:
        turn = gateway.memory.add_turn(ALICE, **COMPLETED, curation=CurationState.PENDING)
        await ProgressWriter(redis, turn.turn_id, attempt=1).emit(ProgressEvent.TURN_COMPLETED, {"reply": "好的。"})
        started = time.monotonic()
        async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
            assert names(await stream.rest()) == ["turn.completed"]
        assert 0.5 < time.monotonic() - started < 3


async def test_malformed_entries_do_no_harm(gateway: RunningGateway, redis: Redis, running_turn: TurnView) -> None:
    name = progress_stream(running_turn.turn_id)
    other = gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)
    malformed: list[dict[str, str | bytes]] = [
        {"nothing": "here"},
        {"event": b"\xff", "data": b"\xff"},
        {"event": "text.delta", "data": "{"},
        {"event": "turn.completed\nid: 9-9", "data": "{}"},
        {"event": "turn.snapshot", "data": "{}"},
    ]

    async def write_malformed() -> None:
        for fields in malformed:
            await redis.xadd(name, fields)  # type: ignore[arg-type]

    await write_malformed()
    async with (
        gateway.client(ALICE) as client,
        event_stream(client, running_turn.turn_id) as stream,
        event_stream(client, other.turn_id) as other_stream,
    ):
        await wait_for(lambda: gateway.reader.watched_turns == 2, "both turns are watched")
        await write_malformed()
        await emit_turn(redis, running_turn, "好")
        received = [item for item in await stream.rest() if item.event != "turn.snapshot"]
        assert names(received) == ["turn.started", "text.delta", "turn.completed", "memory.updated"]
        await emit_turn(redis, other, "好")
        assert names(await other_stream.rest())[-1] == "memory.updated"


@pytest.mark.parametrize("last_event_id", ["", "abc", "1", "-1-0", "1-1-1", "0x1-0", "9" * 20 + "-0", "$", "+"])
async def test_a_position_that_is_none_is_the_start(
    gateway: RunningGateway, redis: Redis, running_turn: TurnView, last_event_id: str
) -> None:
    await emit_turn(redis, running_turn, "好")
    async with gateway.client(ALICE) as client, event_stream(client, running_turn.turn_id, last_event_id) as stream:
        assert await stream.rest() == await stored(redis, running_turn)


@pytest.mark.parametrize("last_event_id", ["1-1", "18446744073709551615-0"])
async def test_a_position_that_the_stream_does_not_hold_brings_a_snapshot(
    gateway: RunningGateway, redis: Redis, running_turn: TurnView, last_event_id: str
) -> None:
    gateway.memory.change_turn(running_turn.turn_id, **COMPLETED, **CURATED)
    await emit_turn(redis, running_turn, "好")
    async with gateway.client(ALICE) as client, event_stream(client, running_turn.turn_id, last_event_id) as stream:
        assert names(await stream.rest()) == ["turn.snapshot", "turn.completed", "memory.updated"]


async def test_a_client_that_leaves_is_noticed(redis_url: str, tmp_path: Path) -> None:
    async with running_gateway(redis_url, tmp_path, event_streams_per_user=1) as gateway:
        turn = gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)
        async with gateway.client(ALICE) as client:
            async with event_stream(client, turn.turn_id):
                refused = await client.get(f"/api/turns/{turn.turn_id}/events")
                assert (refused.status_code, refused.json()["code"]) == (429, "too-many-requests")
                assert (await client.get("/api/settings")).status_code == 200
                await wait_for(lambda: gateway.reader.watched_turns == 1, "the turn is watched")
            await wait_for(lambda: gateway.reader.watched_turns == 0, "nobody watches the turn")
            async with event_stream(client, turn.turn_id):
                pass


async def test_a_client_that_does_not_read_is_dropped_and_may_resume(
    redis_url: str, redis: Redis, tmp_path: Path
) -> None:
    limits = {"event_queue_length": 20, "send_timeout_seconds": 0.5, "silence_seconds": 30}
    async with running_gateway(redis_url, tmp_path, **limits) as gateway:
        turn = gateway.memory.add_turn(ALICE, status=TurnStatus.RUNNING, attempt=1)
        writer = ProgressWriter(redis, turn.turn_id, attempt=1)
        await writer.emit(ProgressEvent.TURN_STARTED, {})
        async with gateway.client(ALICE) as client:
            async with event_stream(client, turn.turn_id) as stream:
                received = [await stream.next()]
                await emit_text(writer, *["长" * 40_000] * 150)  # more than the sockets between us hold
                await wait_for(lambda: gateway.reader.watched_turns == 0, "the client was dropped")
                received += await stream.rest()
            everything = await stored(redis, turn)
            assert len(received) < len(everything)
            await emit_end(writer, redis, turn)
            async with event_stream(client, turn.turn_id, received[-1].id) as stream:
                received += await stream.rest()
    assert received == await stored(redis, turn)


async def test_a_connection_lives_so_long_and_no_longer_than_its_token(redis_url: str, tmp_path: Path) -> None:
    async with running_gateway(redis_url, tmp_path, event_stream_seconds=0.5) as gateway:
        turn = gateway.memory.add_turn(ALICE, status=TurnStatus.ACCEPTED)
        async with gateway.client(ALICE) as client, event_stream(client, turn.turn_id) as stream:
            assert await stream.rest() == []
    async with running_gateway(redis_url, tmp_path, jwt_leeway_seconds=0) as gateway:
        turn = gateway.memory.add_turn(ALICE, status=TurnStatus.ACCEPTED)
        token = gateway.issuer.token(ALICE, exp=int(time.time()) + 2)
        async with gateway.client_with(token) as client, event_stream(client, turn.turn_id) as stream:
            assert await stream.rest() == []
