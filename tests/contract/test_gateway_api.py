"""The public API, route by route, against a memory service that keeps the contract."""

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.support.serving import RunningGateway, running_gateway

from common.memory_api.base import Owner
from common.problems import Problem, ProblemCode
from gateway.personal_data.export_stream import export_lines, first_page

ALICE = Owner(tenant_id="shop", user_id="alice")


@pytest.fixture(scope="module")
async def gateway(valkey: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    async with running_gateway(valkey, tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture
def user() -> str:
    """A user that no other test has used."""
    return f"user-{uuid4()}"


@pytest.fixture
async def client(gateway: RunningGateway, user: str) -> AsyncIterator[httpx2.AsyncClient]:
    """Speaks for the user."""
    async with gateway.client(Owner(tenant_id="shop", user_id=user)) as client:
        yield client


@pytest.fixture
async def alice(gateway: RunningGateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with gateway.client(ALICE) as client:
        yield client


async def post_turn(client: httpx2.AsyncClient, session_id: str, text: str, key: str) -> httpx2.Response:
    return await client.post(f"/api/sessions/{session_id}/turns", json={"text": text}, headers={"Idempotency-Key": key})


async def new_session(client: httpx2.AsyncClient) -> str:
    return str((await client.post("/api/sessions")).json()["session_id"])


def problem(answer: httpx2.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    return answer.status_code, body["code"]


async def test_the_life_of_a_session(client: httpx2.AsyncClient) -> None:
    created = await client.post("/api/sessions")
    assert created.status_code == 201
    session_id = created.json()["session_id"]
    assert created.headers["location"] == f"/api/sessions/{session_id}"
    assert (await client.get(f"/api/sessions/{session_id}")).json() == created.json()
    listed = (await client.get("/api/sessions")).json()["sessions"]
    assert [session["session_id"] for session in listed] == [session_id]
    usage = (await client.get(f"/api/sessions/{session_id}/usage")).json()
    assert (usage["calls"], usage["summary"]["total"]["rate"]) == ([], None)
    ended = await client.post(f"/api/sessions/{session_id}/end")
    assert (ended.status_code, ended.json()["state"]) == (200, "ended")
    assert problem(await post_turn(client, session_id, "hello", "k")) == (409, "session-ended")


async def test_the_life_of_a_turn(client: httpx2.AsyncClient) -> None:
    session_id = await new_session(client)
    posted = await post_turn(client, session_id, "找一个双肩包", "k1")
    assert posted.status_code == 202
    turn = posted.json()
    assert turn["events_url"] == f"/api/turns/{turn['turn_id']}/events"
    assert posted.headers["location"] == f"/api/turns/{turn['turn_id']}"
    assert (turn["status"], turn["session_id"]) == ("accepted", session_id)
    seen = (await client.get(f"/api/turns/{turn['turn_id']}")).json()
    assert (seen["text"], seen["status"]) == ("找一个双肩包", "accepted")
    assert (await client.get(f"/api/sessions/{session_id}/turns")).json() == {"turns": [seen]}
    cancelled = await client.post(f"/api/turns/{turn['turn_id']}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")


async def test_a_key_is_one_turn(client: httpx2.AsyncClient) -> None:
    session_id = await new_session(client)
    first = await post_turn(client, session_id, "one", "k1")
    again = await post_turn(client, session_id, "one", "k1")
    assert (again.status_code, again.json()) == (202, first.json())
    assert problem(await post_turn(client, session_id, "two", "k1")) == (422, "idempotency-conflict")


async def test_a_busy_session_says_when_to_come_back(client: httpx2.AsyncClient) -> None:
    session_id = await new_session(client)
    await post_turn(client, session_id, "one", "k1")
    busy = await post_turn(client, session_id, "two", "k2")
    assert problem(busy) == (409, "turn-open")
    assert int(busy.headers["retry-after"]) >= 1


@pytest.mark.parametrize("key", [None, b"", b"with space", "schlüssel".encode("latin-1"), b"k" * 129])
async def test_a_turn_needs_a_key(client: httpx2.AsyncClient, key: bytes | None) -> None:
    session_id = await new_session(client)
    headers = {} if key is None else {b"Idempotency-Key": key}
    answer = await client.post(f"/api/sessions/{session_id}/turns", json={"text": "hello"}, headers=headers)
    assert problem(answer) == (400, "idempotency-key-missing")


async def test_two_keys_are_no_key(client: httpx2.AsyncClient) -> None:
    session_id = await new_session(client)
    headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
    answer = await client.post(f"/api/sessions/{session_id}/turns", json={"text": "hello"}, headers=headers)
    assert problem(answer) == (400, "idempotency-key-missing")


async def test_preferences(alice: httpx2.AsyncClient) -> None:
    url = "/api/preferences/alice/nut_allergy"
    written = await alice.put(url, json={"value": "对坚果过敏", "category": "constraint"})
    assert (written.status_code, written.json()["value"]) == (200, "对坚果过敏")
    assert (await alice.put("/api/preferences/alice/style", json={"value": "简约"})).json()["category"] == "preference"
    own = (await alice.get("/api/preferences")).json()
    assert own == (await alice.get("/api/preferences/alice")).json()
    assert [fact["key"] for fact in own["facts"]] == ["nut_allergy", "style"]
    constraints = (await alice.get("/api/preferences", params={"category": "constraint"})).json()["facts"]
    assert [fact["key"] for fact in constraints] == ["nut_allergy"]

    await alice.put(url, json={"value": "只对花生过敏", "category": "constraint"})
    versions = (await alice.get(f"{url}/history")).json()["versions"]
    assert [version["value"] for version in versions] == ["对坚果过敏"]
    restored = await alice.post("/api/preferences/alice/restore", json={"version_id": versions[0]["version_id"]})
    assert (restored.status_code, restored.json()["value"]) == (200, "对坚果过敏")

    deleted = await alice.delete(url)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert problem(await alice.delete(url)) == (404, "not-found")
    cleared = await alice.delete("/api/preferences/alice")
    assert (cleared.status_code, cleared.json()["facts"]) == (200, 1)
    assert (await alice.get("/api/preferences")).json()["facts"] == []


async def test_facts_are_filtered_and_listed_page_by_page(client: httpx2.AsyncClient, user: str) -> None:
    for key, value in (("shoe_size", "42"), ("nut_allergy", "坚果过敏"), ("nut_choice", "只买开心果")):
        await client.put(f"/api/preferences/{user}/{key}", json={"value": "鞋码 " + value})
    first = (await client.get("/api/preferences", params={"limit": 2, "text": "nut", "source": "user"})).json()
    assert [fact["key"] for fact in first["facts"]] == ["nut_allergy", "nut_choice"]
    assert (first["next_cursor"], first["memory_enabled"]) == (None, True)
    pages = []
    cursor: dict[str, str] = {}
    while True:
        page = (await client.get("/api/preferences", params={"limit": 1, **cursor})).json()
        pages.append([fact["key"] for fact in page["facts"]])
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert pages == [["shoe_size"], ["nut_allergy"], ["nut_choice"]]


async def test_an_edit_applies_only_to_the_fact_that_was_seen(client: httpx2.AsyncClient, user: str) -> None:
    url = f"/api/preferences/{user}/style"
    created = await client.put(url, json={"value": "简约"}, headers={"If-None-Match": "*"})
    seen = created.headers["etag"]
    assert (await client.get(url)).headers["etag"] == seen
    assert problem(await client.put(url, json={"value": "x"}, headers={"If-None-Match": "*"}))[0] == 412
    edited = await client.put(url, json={"value": "北欧"}, headers={"If-Match": seen})
    assert (edited.status_code, edited.headers["etag"] != seen) == (200, True)
    for stale in (seen, f"W/{edited.headers['etag']}", '"other"', f"{seen}, {edited.headers['etag']}"):
        for method, body in (("PUT", {"value": "x"}), ("DELETE", None)):
            answer = await client.request(method, url, json=body, headers={"If-Match": stale})
            assert problem(answer) == (412, "precondition-failed"), (method, stale)
    assert (await client.get(url)).json()["fact"]["value"] == "北欧"
    undone = await client.post(f"{url}/undo", headers={"If-Match": edited.headers["etag"]})
    assert (undone.status_code, undone.json()["value"]) == (200, "简约")
    assert (await client.delete(url, headers={"If-Match": "*"})).status_code == 204
    assert problem(await client.get(url)) == (404, "not-found")


async def test_an_import_tells_what_became_of_every_line(client: httpx2.AsyncClient, user: str) -> None:
    lines = [
        b'{"key": "style", "value": "\xe7\xae\x80\xe7\xba\xa6"}',
        b"",
        b'{"key": "card", "value": "6222 0200 1234"}',
        b"{not json",
        b"[1]",
        b'{"value": "no key"}',
        b'{"key": "k", "value": "\xff"}',
        b'{"type": "turn", "text": "..."}',
        b'{"type": "fact", "fact": {"key": "size", "value": "M", "category": "context", "seq": 9}, "versions": []}\r',
    ]
    url = f"/api/preferences/{user}/import"
    headers = {"Content-Type": "application/x-ndjson"}
    answer = await client.post(url, content=b"\n".join(lines), headers=headers)
    assert answer.status_code == 200
    told = [(line["line"], line["result"], line["rule"]) for line in answer.json()["lines"]]
    assert told == [
        (1, "added", None),
        (3, "refused", "identifier-number"),
        (4, "invalid", "not-json"),
        (5, "invalid", "not-an-object"),
        (6, "invalid", "key: missing"),
        (7, "invalid", "not-json"),
        (8, "not_a_fact", None),
        (9, "added", None),
    ]
    assert (await client.get(f"/api/preferences/{user}/size")).json()["fact"]["category"] == "context"
    plain = {"Content-Type": "text/plain"}
    assert problem(await client.post(url, content=b"{}", headers=plain)) == (415, "unsupported-media-type")
    assert problem(await client.post(url, content=b"{}\n" * 1_001, headers=headers)) == (422, "invalid-request")
    assert problem(await client.post(url, content=b"x" * 1_100_000, headers=headers)) == (413, "body-too-large")
    assert problem(await client.put("/api/settings", content=b"{}", headers=headers))[0] == 415, "only an import"


async def test_an_export_comes_line_by_line_and_says_where_it_ends(
    gateway: RunningGateway, client: httpx2.AsyncClient, user: str
) -> None:
    await client.put(f"/api/preferences/{user}/style", json={"value": "简约"})
    await post_turn(client, await new_session(client), "找一个双肩包", "k1")
    answer = await client.get(f"/api/users/{user}/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [line["type"] for line in lines] == ["fact", "turn", "end"]
    assert (lines[0]["fact"]["value"], lines[1]["text"], lines[2]["lines"]) == ("简约", "找一个双肩包", 2)
    again = await client.post(
        f"/api/preferences/{user}/import", content=answer.content, headers={"Content-Type": "application/jsonl"}
    )
    assert [line["result"] for line in again.json()["lines"]] == ["added", "not_a_fact", "not_a_fact"]


async def test_an_export_that_breaks_off_says_so(gateway: RunningGateway) -> None:
    memory = gateway.components.memory
    owner = Owner(tenant_id="shop", user_id=f"user-{uuid4()}")
    page = await first_page(memory, owner)
    gateway.memory.down = True
    try:
        lines = [json.loads(line) async for line in export_lines(memory, owner, page)]
    finally:
        gateway.memory.down = False
    assert [line["type"] for line in lines] == ["incomplete"]


async def test_a_user_is_erased(client: httpx2.AsyncClient, user: str) -> None:
    await client.put(f"/api/preferences/{user}/style", json={"value": "简约"})
    erased = await client.delete(f"/api/users/{user}")
    assert (erased.status_code, erased.json()["rows"]) == (200, {"memory_facts": 1})
    assert (await client.get("/api/preferences")).json()["facts"] == []


async def test_a_key_may_hold_any_character(alice: httpx2.AsyncClient) -> None:
    for key in ("tea%2Fcoffee", "%E6%9D%90%E8%B4%A8", "candidates", "events"):
        written = await alice.put(f"/api/preferences/alice/{key}", json={"value": "x"})
        assert written.status_code == 200, key
        assert (await alice.get(f"/api/preferences/alice/{key}/history")).status_code == 200
        assert (await alice.delete(f"/api/preferences/alice/{key}")).status_code == 204


async def test_an_empty_key_clears_nothing(gateway: RunningGateway, alice: httpx2.AsyncClient) -> None:
    gateway.memory.calls.clear()
    assert problem(await alice.delete("/api/preferences/alice/")) == (422, "invalid-request")
    assert gateway.memory.calls == []


async def test_a_refused_fact_is_the_gates_answer(alice: httpx2.AsyncClient) -> None:
    answer = await alice.put("/api/preferences/alice/card", json={"value": "6222 0200 1234"})
    assert problem(answer) == (422, "fact-refused")
    assert "6222" not in answer.text


async def test_candidates(gateway: RunningGateway, alice: httpx2.AsyncClient) -> None:
    accepted, refused = gateway.memory.add_candidate(ALICE), gateway.memory.add_candidate(ALICE)
    url = "/api/preferences/alice/candidates"
    assert len((await alice.get(url)).json()["candidates"]) == 2
    answer = await alice.post(f"{url}/{accepted.candidate_id}/accept")
    assert (answer.status_code, answer.json()["value"]) == (200, "蓝色")
    assert (await alice.post(f"{url}/{refused.candidate_id}/refuse")).status_code == 204
    assert (await alice.get(url)).json() == {"candidates": []}
    await alice.delete("/api/preferences/alice")


async def test_settings(client: httpx2.AsyncClient) -> None:
    before = (await client.get("/api/settings")).json()
    assert before["platforms"] == []
    changed = {**before, "platforms": ["taobao", "amazon"], "currency": "EUR"}
    assert (await client.put("/api/settings", json=changed)).json() == changed
    assert (await client.get("/api/settings")).json() == changed


async def test_favourites(client: httpx2.AsyncClient) -> None:
    assert (await client.put("/api/favourites/bag-1")).json() == {"item_ids": ["bag-1"]}
    assert (await client.put("/api/favourites/bag-2")).json() == {"item_ids": ["bag-1", "bag-2"]}
    assert (await client.delete("/api/favourites/bag-1")).json() == {"item_ids": ["bag-2"]}
    assert (await client.get("/api/favourites")).json() == {"item_ids": ["bag-2"]}


async def test_personal_skills(client: httpx2.AsyncClient) -> None:
    skill = {"name": "office-snacks", "description": "当我买零食时读", "body": "1. 只看小包装"}
    made = await client.post("/api/skills", json=skill)
    assert (made.status_code, {name: made.json()[name] for name in skill}) == (201, skill)
    assert problem(await client.post("/api/skills", json=skill)) == (409, "skill-exists")
    assert (await client.get("/api/skills")).json() == {"skills": [made.json()]}
    assert (await client.delete("/api/skills/office-snacks")).status_code == 204
    assert problem(await client.delete("/api/skills/office-snacks")) == (404, "not-found")
    assert (await client.get("/api/skills")).json() == {"skills": []}


async def test_a_memory_service_that_is_down_is_a_clear_answer(gateway: RunningGateway) -> None:
    gateway.memory.down = True
    try:
        async with gateway.client(ALICE) as client:
            answer = await client.get("/api/preferences")
            assert problem(answer) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) >= 1
            assert problem(await client.get("/readyz")) == (503, "unavailable")
            assert (await client.get("/healthz")).status_code == 200
    finally:
        gateway.memory.down = False


async def test_trouble_between_the_services_is_not_the_users(gateway: RunningGateway) -> None:
    gateway.memory.problem = Problem.of(ProblemCode.UNAUTHENTICATED, "the gateway's own token")
    try:
        async with gateway.client(ALICE) as client:
            answer = await client.get("/api/preferences")
    finally:
        gateway.memory.problem = None
    assert problem(answer) == (500, "internal")
    assert "own token" not in answer.text


async def test_health_is_public(gateway: RunningGateway) -> None:
    async with gateway.client_with(None) as client:
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert (await client.get("/readyz")).json() == {"status": "ready", "redis": "up"}


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
async def test_metrics_are_not_for_whoever_comes_through_a_proxy(gateway: RunningGateway, header: str) -> None:
    async with gateway.client_with(None) as client:
        assert b"shoppingx_http_request_duration_seconds" in (await client.get("/metrics")).content
        assert problem(await client.get("/metrics", headers={header: "203.0.113.7"})) == (404, "not-found")


async def test_the_description_names_every_problem(gateway: RunningGateway) -> None:
    async with gateway.client_with(None) as client:
        description = (await client.get("/openapi.json")).json()
    assert "HTTPValidationError" not in description["components"]["schemas"]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            _check_operation(f"{method} {path}", operation, under_api=path.startswith("/api"))


def _check_operation(name: str, operation: dict[str, Any], *, under_api: bool) -> None:
    responses = operation["responses"]
    assert operation["summary"], name
    for status, response in responses.items():
        if status.startswith(("4", "5")):
            content = response["content"]["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}, name
            assert all(str(example["value"]["status"]) == status for example in content["examples"].values()), name
    if under_api:
        assert {"401", "429", "500", "503"} <= responses.keys(), name
        assert operation["security"], name
    if "requestBody" in operation:
        assert {"413", "415", "422"} <= responses.keys(), name
