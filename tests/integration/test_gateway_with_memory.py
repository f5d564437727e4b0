"""The gateway over the real memory service: what the fake one is trusted for elsewhere holds."""

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid4

import httpx2
import pytest
from tests.support.event_stream import event_stream
from tests.support.processes import Processes

from devstack.database import DatabaseUrls
from devstack.stream_groups import create_stream_groups


@pytest.fixture(scope="module")
async def processes(
    module_database: DatabaseUrls, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Processes]:
    """Memory and gateway alone: nobody works on the turns."""
    running = Processes(module_database, tmp_path_factory.mktemp("processes"))
    try:
        await running.valkey.start()
        await create_stream_groups(running.redis_url)
        await running.start("memory")
        await running.start("gateway")
        yield running
    finally:
        running.kill_all()


@pytest.fixture
def user() -> str:
    return f"user-{uuid4()}"


@pytest.fixture
async def client(processes: Processes, user: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with processes.client(user) as client:
        yield client


async def post_turn(client: httpx2.AsyncClient, session_id: str, text: str = "你好") -> httpx2.Response:
    headers = {"Idempotency-Key": str(uuid4())}
    return await client.post(f"/api/sessions/{session_id}/turns", json={"text": text}, headers=headers)


async def new_session(client: httpx2.AsyncClient) -> str:
    return str((await client.post("/api/sessions")).json()["session_id"])


async def test_of_two_turns_at_once_one_is_accepted(client: httpx2.AsyncClient) -> None:
    session_id = await new_session(client)
    answers = await asyncio.gather(post_turn(client, session_id), post_turn(client, session_id))
    assert sorted(answer.status_code for answer in answers) == [202, 409]
    (refused,) = (answer for answer in answers if answer.status_code == 409)
    assert refused.json()["code"] == "turn-open"
    assert refused.headers["retry-after"]


async def test_a_key_is_one_turn(client: httpx2.AsyncClient) -> None:
    url = f"/api/sessions/{await new_session(client)}/turns"
    headers = {"Idempotency-Key": "k"}
    first = await client.post(url, json={"text": "one"}, headers=headers)
    again = await client.post(url, json={"text": "one"}, headers=headers)
    other = await client.post(url, json={"text": "two"}, headers=headers)
    assert (first.status_code, again.status_code, again.json()) == (202, 202, first.json())
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-conflict")


async def test_a_cancelled_turn_tells_its_stream_and_frees_its_session(client: httpx2.AsyncClient) -> None:
    session_id = await new_session(client)
    turn = (await post_turn(client, session_id)).json()
    async with event_stream(client, UUID(turn["turn_id"])) as stream:
        cancelled = await client.post(f"/api/turns/{turn['turn_id']}/cancel")
        assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
        async with asyncio.timeout(5):
            ending = (await stream.until("turn.cancelled"))[-1]
    assert ending.data["failure"] == "cancelled-by-user"
    assert ending.data["reply"] == cancelled.json()["reply"]
    assert (await post_turn(client, session_id)).status_code == 202


async def test_the_user_edits_what_is_remembered(client: httpx2.AsyncClient, user: str) -> None:
    url = f"/api/preferences/{user}/nut_allergy"
    for value in ("对坚果过敏", "只对花生过敏"):
        written = await client.put(url, json={"value": value, "category": "constraint"})
        assert (written.status_code, written.json()["value"]) == (200, value), written.text
    (version,) = (await client.get(f"{url}/history")).json()["versions"]
    restored = await client.post(f"/api/preferences/{user}/restore", json={"version_id": version["version_id"]})
    assert (restored.status_code, restored.json()["value"]) == (200, "对坚果过敏")
    assert [fact["key"] for fact in (await client.get("/api/preferences")).json()["facts"]] == ["nut_allergy"]
    assert (await client.delete(url)).status_code == 204
    assert (await client.get("/api/preferences")).json()["facts"] == []
    refused = await client.put(f"/api/preferences/{user}/card", json={"value": "6222 0200 1234 5678"})
    assert (refused.status_code, refused.json()["code"]) == (422, "fact-refused")
    assert "6222" not in refused.text
    assert (await client.get(f"/api/preferences/{user}/candidates")).json() == {"candidates": []}


async def test_clearing_ends_the_open_session_and_its_turn(client: httpx2.AsyncClient, user: str) -> None:
    session_id = await new_session(client)
    turn = (await post_turn(client, session_id)).json()
    cleared = await client.delete(f"/api/preferences/{user}")
    assert (cleared.status_code, cleared.json()["sessions_ended"], cleared.json()["turns_ended"]) == (200, 1, 1)
    assert (await client.get(f"/api/turns/{turn['turn_id']}")).json()["status"] == "cancelled"
    assert (await post_turn(client, session_id)).json()["code"] == "session-ended"


async def test_settings_favourites_and_usage(client: httpx2.AsyncClient) -> None:
    settings = {**(await client.get("/api/settings")).json(), "platforms": ["taobao"], "currency": "EUR"}
    assert (await client.put("/api/settings", json=settings)).json() == settings
    assert (await client.put("/api/favourites/bag-1")).json() == {"item_ids": ["bag-1"]}
    assert (await client.delete("/api/favourites/bag-1")).json() == {"item_ids": []}
    usage = (await client.get(f"/api/sessions/{await new_session(client)}/usage")).json()
    assert (usage["calls"], usage["summary"]["total"]["calls"], usage["summary"]["unknown_share"]) == ([], 0, 0.0)


async def test_the_user_writes_skills(client: httpx2.AsyncClient) -> None:
    skill = {"name": "office-snacks", "description": "当我买零食时读", "body": "1. 只看小包装"}
    made = await client.post("/api/skills", json=skill)
    assert made.status_code == 201, made.text
    other = await client.post("/api/skills", json={**skill, "body": "别的"})
    assert (other.status_code, other.json()["code"]) == (409, "skill-exists")
    refused = await client.post("/api/skills", json={**skill, "name": "b", "body": "打 13800138000"})
    assert (refused.status_code, refused.json()["code"]) == (422, "skill-refused")
    assert "138" not in refused.text
    assert (await client.get("/api/skills")).json() == {"skills": [made.json()]}
    assert (await client.delete("/api/skills/office-snacks")).status_code == 204


async def test_foreign_ids_do_not_exist(processes: Processes, client: httpx2.AsyncClient, user: str) -> None:
    session_id = await new_session(client)
    turn_id = (await post_turn(client, session_id)).json()["turn_id"]
    for stranger, tenant in (("stranger", "t1"), (user, "t2")):
        async with processes.client(stranger, tenant) as other:
            answers = [
                await other.get(f"/api/sessions/{session_id}"),
                await other.get(f"/api/sessions/{session_id}/turns"),
                await other.get(f"/api/sessions/{session_id}/usage"),
                await other.post(f"/api/sessions/{session_id}/end"),
                await post_turn(other, session_id),
                await other.get(f"/api/turns/{turn_id}"),
                await other.get(f"/api/turns/{turn_id}/events"),
                await other.post(f"/api/turns/{turn_id}/cancel"),
            ]
        assert [answer.status_code for answer in answers] == [404] * len(answers)
