"""Bad input at the edges: a clear answer, no crash, nothing echoed into the logs, and the work goes on."""

import json
from typing import Any

import pytest
from redis.asyncio import Redis
from tests.support.conversation import conversation
from tests.support.processes import Processes

from common.streams.names import ALL_GROUPS

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"text":"a\\u0000b"}', 422),
        (b'{"text":"\\ud800"}', 422),
        (b'{"text":""}', 422),
        (b'{"text":"   "}', 422),
        (b'{"text":' + json.dumps("x" * 1_000_000).encode() + b"}", 413),
        (b'{"text":' + json.dumps("长" * 8_001).encode() + b"}", 422),
        (b'{"text":"x","surprise":1}', 422),
        (b'{"text":1}', 422),
        (b"[]", 422),
        (b"", 422),
        (b"{", 422),
        (b"\xff\xfe\x00", 400),
    ],
)
async def test_a_body_that_is_no_turn(processes: Processes, body: bytes, status: int) -> None:
    async with conversation(processes) as user:
        answer = await user.client.post(
            f"/api/sessions/{user.session_id}/turns",
            content=body,
            headers={"Idempotency-Key": "k", "Content-Type": "application/json"},
        )
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert "xxx" not in answer.text
        assert (await user.post("还在吗")).status_code == 202


@pytest.mark.parametrize("key", [None, "", "键", "k" * 129, "a b"])
async def test_a_turn_needs_a_key(processes: Processes, key: str | None) -> None:
    async with conversation(processes) as user:
        headers: Any = {} if key is None else {"Idempotency-Key": key.encode()}
        answer = await user.client.post(f"/api/sessions/{user.session_id}/turns", json={"text": "x"}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "idempotency-key-missing")


@pytest.mark.parametrize("path", ["/api/turns/not-a-uuid", "/api/sessions/0/turns", "/api/nothing", "/api/turns/%00"])
async def test_paths_that_lead_nowhere(processes: Processes, path: str) -> None:
    async with conversation(processes) as user:
        answer = await user.client.get(path)
        assert answer.status_code in (404, 422)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_malformed_events_stop_nothing(processes: Processes) -> None:
    """In each stream, of each kind of damage."""
    pieces: list[dict[bytes | str, bytes | str]] = [
        {"x": "y"},
        {"__data__": b"\x89BIN\r\n\x1a\n garbage"},
        {"__data__": b""},
        {"__data__": b"not json"},
        {"__data__": b"[]"},
        {"__data__": b'{"type":"turn.requested"}'},
        {"__data__": b'{"type":"unknown","schema_version":99}'},
        {"__data__": b"\xff" * 1000},
        {b"\xff": b"\xfe"},
    ]
    async with Redis.from_url(processes.redis_url) as redis:
        for stream, _ in ALL_GROUPS:
            for piece in pieces:
                await redis.xadd(stream, piece)  # type: ignore[arg-type]
        async with conversation(processes) as user:
            view = await user.curated(await user.say("我对坚果过敏"))
            assert (view["status"], view["curation"]) == ("completed", "done")
        for stream, group in ALL_GROUPS[:2]:
            pending = await redis.xpending(stream, group)
            assert pending["pending"] == 0, "bad events are acknowledged too"
    for name in ("agent", "curator"):
        await processes.wait_ready(name)


async def test_an_event_about_somebody_elses_turn_is_nobodys(processes: Processes) -> None:
    """Memory checks the ids of an event against the work record."""
    async with conversation(processes) as user, conversation(processes) as other:
        turn_id = await user.say("我对坚果过敏")
        view = await user.curated(turn_id)
        event = {
            "schema_version": 1,
            "event_id": turn_id,
            "type": "turn.completed",
            "tenant_id": "t1",
            "user_id": other.user,
            "session_id": view["session_id"],
            "turn_id": turn_id,
            "seq": 1,
            "purge_generation": 0,
            "occurred_at": "2026-11-30T00:00:00Z",
            "cause": "live",
            "run": 0,
        }
        async with Redis.from_url(processes.redis_url) as redis:
            await redis.xadd("events:turn.completed", {"__data__": json.dumps(event)})
        await other.curated(await other.say("你好"))
        assert await other.facts() == {}
        assert set(await user.facts()) == {"nut_allergy"}


async def test_logs_hold_no_words(processes: Processes) -> None:
    canary = "独一无二的金丝雀词"
    async with conversation(processes) as user:
        await user.curated(
            await user.say(f"记住我对{canary}过敏 [[offline:save=canary_allergy|对{canary}过敏|constraint]]")
        )
        assert (await user.facts())["canary_allergy"]["value"] == f"对{canary}过敏"
        await user.client.put(f"/api/preferences/{user.user}/contact", json={"value": f"{canary} 13800138000"})
    for name in ("gateway", "memory", "agent", "curator", "offline_model"):
        text = json.dumps(processes.logs(name), ensure_ascii=False)
        assert canary not in text, name
        assert "13800138000" not in text, name
