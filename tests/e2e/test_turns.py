"""A turn through the public API with every service running (issue "One turn, end to end", what it must show 4)."""

import asyncio
import base64
import itertools
import json
from uuid import uuid4

import asyncpg
import httpx2
import pytest
from tests.support.conversation import conversation
from tests.support.processes import Processes, running_processes
from tests.support.waiting import wait_for

from devstack.database import DatabaseUrls
from memory.database.schema import metadata, operating

pytestmark = pytest.mark.timeout(180)


async def test_two_turns_at_once_one_is_accepted_and_one_is_told_to_wait(processes: Processes) -> None:
    async with conversation(processes) as user:
        answers = await asyncio.gather(user.post("找一个背包"), user.post("找一把雨伞"))
        assert sorted(answer.status_code for answer in answers) == [202, 409]
        refusal = next(answer for answer in answers if answer.status_code == 409)
        assert refusal.headers["content-type"] == "application/problem+json"
        assert refusal.json()["code"] == "turn-open"
        assert int(refusal.headers["Retry-After"]) > 0
        accepted = next(answer for answer in answers if answer.status_code == 202)
        assert (await user.ended(accepted.json()["turn_id"]))["status"] == "completed"


async def test_the_same_key_is_one_turn_and_with_another_body_it_is_refused(processes: Processes) -> None:
    async with conversation(processes) as user:
        first, second = await asyncio.gather(user.post("找一个背包", "key-1"), user.post("找一个背包", "key-1"))
        assert {first.status_code, second.status_code} == {202}
        assert first.json()["turn_id"] == second.json()["turn_id"]
        conflict = await user.post("找一把雨伞", "key-1")
        assert (conflict.status_code, conflict.json()["code"]) == (422, "idempotency-conflict")
        await user.curated(first.json()["turn_id"])
        calls = [call for call in await user.usage() if call["kind"] == "main"]
        assert len({call["turn_id"] for call in calls}) == 1


async def test_cancel_in_mid_turn(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say("找一个背包 [[offline:slow=0.05]]")

        async def running() -> bool:
            return bool((await user.turn(turn_id))["status"] == "running")

        await wait_for(running, "the turn runs")
        cancelled = await user.client.post(f"/api/turns/{turn_id}/cancel")
        assert cancelled.json()["status"] == "cancelled"
        assert cancelled.json()["reply"]
        following = await user.say("找一把雨伞")
        assert (await user.ended(following))["status"] == "completed"
        await user.processes.check_invariants(settled=False)


async def test_a_model_that_hangs_fails_the_turn_at_its_deadline_and_the_session_goes_on(
    database: DatabaseUrls, tmp_path_factory: pytest.TempPathFactory
) -> None:
    short = {"memory": {"TURN_DEADLINE_SECONDS": "4"}}
    async with (
        running_processes(database, tmp_path_factory.mktemp("hanging"), short) as processes,
        conversation(processes) as user,
    ):
        turn_id = await user.say("找一个背包 [[offline:hang]]")
        view = await user.ended(turn_id)
        assert view["status"] == "failed"
        assert view["failure"] in ("deadline", "model-unavailable")
        assert view["reply"]
        following = await user.say("找一个背包")
        assert (await user.ended(following))["status"] == "completed"
        await user.curated(following)
        await processes.check_invariants()


async def test_a_fact_said_in_one_session_is_obeyed_in_the_next(processes: Processes) -> None:
    async with conversation(processes) as user:
        view = await user.curated(await user.say("我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内"))
        assert view["status"] == "completed"
        assert view["items"], "a list of products"
        assert all(float(item["price"]) <= 500 for item in view["items"] if item["currency"] == "CNY")
        facts = await user.facts()
        assert facts["nut_allergy"]["category"] == "constraint"
        await user.new_session()
        turn_id = await user.say("推荐几样办公室零食")
        events = [event async for event in user.events(turn_id)]
        searches = [
            event.data["arguments"]
            for event in events
            if event.name == "tool.started" and event.data["tool"] == "item_search"
        ]
        assert searches
        excluded = json.dumps(searches, ensure_ascii=False)
        assert "坚果" in excluded, "the constraint is written into the search, where it can be seen"
        view = await user.ended(turn_id)
        assert view["items"]
        listed = json.dumps(view["items"], ensure_ascii=False)
        for word in ("坚果", "花生", "杏仁", "腰果", "核桃", "almond", "peanut", "cashew"):
            assert word not in listed.lower()


async def test_save_memory_is_visible_in_its_own_turn(processes: Processes) -> None:
    async with conversation(processes) as user:
        turn_id = await user.say("记住我不要塑料的东西，找一个水杯")
        saved = [event async for event in user.events(turn_id) if event.name == "memory.saved"]
        assert [event.data["key"] for event in saved] == ["material_avoid"]
        assert (await user.facts())["material_avoid"]["source"] == "save_memory"


async def test_fifty_users_at_once_see_nothing_of_each_other(
    database: DatabaseUrls, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async with running_processes(database, tmp_path_factory.mktemp("fifty")) as processes:
        # Letters only: the gate would take a long number for an identifier.
        letters = str.maketrans("0123456789", "ghijklmnop")
        canaries = {f"u{n}": f"canary-{uuid4().hex.translate(letters)}" for n in range(50)}
        seen: dict[str, dict[str, object]] = {}

        async def live(user: str, canary: str) -> None:
            async with conversation(processes, user, tenant=f"t{int(user[1:]) % 5}") as talking:
                turn_id = await talking.say(f"你好，我的代号是 {canary} [[offline:text=收到 {canary}]]")
                view = await talking.followed(turn_id)
                assert view["status"] == "completed"
                put = await talking.client.put(
                    f"/api/preferences/{user}/code_name", json={"value": canary, "category": "context"}
                )
                assert put.status_code == 200, put.text
                candidates = await talking.client.get(f"/api/preferences/{user}/candidates")
                seen[user] = {
                    "tenant": f"t{int(user[1:]) % 5}",
                    "session": talking.session_id,
                    "turn": turn_id,
                    "texts": [view, await talking.facts(), candidates.json(), await talking.usage()],
                }

        await asyncio.gather(*(live(user, canary) for user, canary in canaries.items()))
        for user, record in seen.items():
            shown = json.dumps(record["texts"], ensure_ascii=False)
            assert canaries[user] in shown
            assert not [other for other, canary in canaries.items() if other != user and canary in shown]
        await _no_foreign_row(database, seen)
        await _no_foreign_id(processes, seen)


async def _no_foreign_row(database: DatabaseUrls, seen: dict[str, dict[str, object]]) -> None:
    """In the database: as each user, every table shows only that user's rows, and what operators have none."""
    connection = await asyncpg.connect(database.app)
    try:
        for of_users in [table.name for table in operating.sorted_tables if "user_id" in table.c]:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"SELECT * FROM {of_users}")
        for user, record in seen.items():
            async with connection.transaction():
                await connection.execute("SELECT set_config('app.tenant_id', $1, true)", record["tenant"])
                await connection.execute("SELECT set_config('app.user_id', $1, true)", user)
                for table in metadata.tables:
                    owners = await connection.fetch(f"SELECT DISTINCT tenant_id, user_id FROM {table}")
                    assert {tuple(row) for row in owners} <= {(record["tenant"], user)}, table
    finally:
        await connection.close()


async def _no_foreign_id(processes: Processes, seen: dict[str, dict[str, object]]) -> None:
    """Through every route that takes an id: somebody else's id is as if it did not exist.

    A dozen pairs of users, within a tenant and across tenants.
    """
    users = list(seen)[::4]
    for user, other in itertools.pairwise(users):
        theirs = seen[other]
        async with processes.client(user, str(seen[user]["tenant"])) as client:
            for method, path in (
                ("GET", f"/api/sessions/{theirs['session']}"),
                ("GET", f"/api/sessions/{theirs['session']}/turns"),
                ("GET", f"/api/sessions/{theirs['session']}/usage"),
                ("POST", f"/api/sessions/{theirs['session']}/end"),
                ("GET", f"/api/turns/{theirs['turn']}"),
                ("GET", f"/api/turns/{theirs['turn']}/events"),
                ("POST", f"/api/turns/{theirs['turn']}/cancel"),
            ):
                answer = await client.request(method, path)
                assert answer.status_code == 404, (method, path)
            posted = await client.post(
                f"/api/sessions/{theirs['session']}/turns",
                json={"text": "x"},
                headers={"Idempotency-Key": "k"},
            )
            assert posted.status_code == 404
            for method, path in (
                ("GET", f"/api/preferences/{other}"),
                ("PUT", f"/api/preferences/{other}/code_name"),
                ("DELETE", f"/api/preferences/{other}/code_name"),
                ("DELETE", f"/api/preferences/{other}"),
            ):
                body = {"value": "x"} if method == "PUT" else None
                assert (await client.request(method, path, json=body)).status_code == 403, (method, path)


async def test_a_token_of_another_key_is_nobodys(processes: Processes) -> None:
    header, payload, _ = processes.token().split(".")
    forged = f"{header}.{payload}.{base64.urlsafe_b64encode(b'x' * 64).decode().rstrip('=')}"
    async with httpx2.AsyncClient(base_url=processes.gateway_url, trust_env=False) as client:
        for token in (forged, f"{header}.{payload}.", "x"):
            answer = await client.post("/api/sessions", headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == 401
            assert answer.headers["content-type"] == "application/problem+json"
