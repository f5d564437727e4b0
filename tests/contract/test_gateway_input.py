"""Bad input gets a clear answer that does not repeat it, reaches nobody else, and breaks nothing."""

import json
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx2
import pytest
from tests.support.serving import RunningGateway, running_gateway

from common.memory_api.base import Owner
from common.text import USER_TEXT_MAX

ALICE = Owner(tenant_id="shop", user_id="alice")
JSON = {"Content-Type": "application/json"}
SECRET = "leak-me-not"


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    async with running_gateway("redis://127.0.0.1:1", tmp_path_factory.mktemp("gateway")) as running:
        yield running


@pytest.fixture
async def client(gateway: RunningGateway) -> AsyncIterator[httpx2.AsyncClient]:
    async with gateway.client(ALICE) as client:
        yield client


@pytest.fixture
async def turns_url(gateway: RunningGateway, client: httpx2.AsyncClient) -> AsyncIterator[str]:
    """Where a turn may be posted; afterwards nothing but the session has reached the memory service, and a good
    turn still gets through."""
    session_id = (await client.post("/api/sessions")).json()["session_id"]
    url = f"/api/sessions/{session_id}/turns"
    gateway.memory.calls.clear()
    yield url
    assert gateway.memory.calls == []
    answer = await client.post(url, json={"text": "hello"}, headers={"Idempotency-Key": str(uuid4())})
    assert answer.status_code == 202


async def post(client: httpx2.AsyncClient, url: str, content: bytes | AsyncIterator[bytes]) -> httpx2.Response:
    headers = {**JSON, "Idempotency-Key": "k"}
    return await client.post(url, content=content, headers=headers)


@pytest.mark.parametrize(
    "body",
    [
        rb'{"text": "leak-me-not\u0000"}',
        rb'{"text": "leak-me-not\ud800"}',
        rb'{"text": "leak-me-not", "\ud800": 1}',
        rb'{"text": "hello", "extra": "leak-me-not"}',
        rb'{"text": "hello", "user_id": "leak-me-not"}',
        rb'{"text": ["leak-me-not"]}',
        rb'{"text": null, "reply": "leak-me-not"}',
        rb'{"text": ""}',
        rb'{"text": " \n\t "}',
        rb"{}",
        rb'"leak-me-not"',
        rb"[]",
        rb"null",
        rb'{"text": "leak-me-not"',
        rb"",
        json.dumps({"text": SECRET + "长" * USER_TEXT_MAX}, ensure_ascii=False).encode(),
    ],
)
async def test_a_body_that_is_no_turn(client: httpx2.AsyncClient, turns_url: str, body: bytes) -> None:
    answer = await post(client, turns_url, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert SECRET not in answer.text


@pytest.mark.parametrize("body", [b"\xff\xfe", b"[" * 30_000, b'{"text": "' + b"\xed\xa0\x80" + b'"}'])
async def test_a_body_that_is_no_json_text(client: httpx2.AsyncClient, turns_url: str, body: bytes) -> None:
    answer = await post(client, turns_url, body)
    assert answer.status_code in (400, 422)
    assert answer.json()["code"] == "invalid-request"


async def test_a_declared_body_that_is_too_large(client: httpx2.AsyncClient, turns_url: str) -> None:
    answer = await post(client, turns_url, json.dumps({"text": "x" * 1_000_000}).encode())
    assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")


async def test_a_streamed_body_that_is_too_large(client: httpx2.AsyncClient, turns_url: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"text": "'
        for _ in range(100):
            yield b"x" * 1_000

    answer = await post(client, turns_url, pieces())
    assert (answer.status_code, answer.json()["code"]) == (413, "body-too-large")


@pytest.mark.parametrize(
    "media_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
)
async def test_a_body_that_does_not_say_it_is_json(
    client: httpx2.AsyncClient, turns_url: str, media_type: str | None
) -> None:
    headers = {"Idempotency-Key": "k"} | ({"Content-Type": media_type} if media_type else {})
    answer = await client.post(turns_url, content=b'{"text": "hello"}', headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported-media-type")


async def test_json_with_a_charset_is_json(client: httpx2.AsyncClient) -> None:
    settings = (await client.get("/api/settings")).json()
    headers = {"Content-Type": "application/json; charset=utf-8"}
    answer = await client.put("/api/settings", content=json.dumps(settings), headers=headers)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/turns/not-an-id", None),
        ("GET", "/api/turns/not-an-id/events", None),
        ("GET", "/api/sessions/%00", None),
        ("GET", "/api/sessions?limit=0", None),
        ("GET", "/api/sessions?limit=9999999", None),
        ("GET", "/api/preferences?category=secret", None),
        ("DELETE", "/api/preferences/alice/a%00b", None),
        ("PUT", "/api/preferences/alice/" + "k" * 1_001, {"value": "x"}),
        ("PUT", "/api/preferences/alice/key", {"value": "x" * 10_001}),
        ("PUT", "/api/preferences/alice/key", {"value": "x", "category": "identity"}),
        ("PUT", "/api/preferences/alice/key", {"value": "x", "source": "curator"}),
        ("POST", "/api/preferences/alice/restore", {"version_id": "x"}),
        ("PUT", "/api/favourites/" + "i" * 129, None),
        ("PUT", "/api/favourites/a%00b", None),
        ("POST", "/api/skills", {"name": "Office_Snacks", "description": "x", "body": "x"}),
        ("POST", "/api/skills", {"name": "my/snacks", "description": "x", "body": "x"}),
        ("POST", "/api/skills", {"name": "a--b", "description": "x", "body": "x"}),
        ("POST", "/api/skills", {"name": "n" * 65, "description": "x", "body": "x"}),
        ("POST", "/api/skills", {"name": "a", "description": " \n", "body": "x"}),
        ("POST", "/api/skills", {"name": "a", "description": "x" * 1_025, "body": "x"}),
        ("POST", "/api/skills", {"name": "a", "description": "x", "body": "x" * 8_001}),
        ("POST", "/api/skills", {"name": "a", "description": "x", "body": "x\n" * 501}),
        ("POST", "/api/skills", {"name": "a", "description": "x"}),
        ("POST", "/api/skills", {"name": "a", "description": "x", "body": "x", "allowed-tools": "x"}),
        ("DELETE", "/api/skills/A_B", None),
        ("PUT", "/api/settings", {"currency": "euro"}),
        ("PUT", "/api/settings", {"colour": "blue"}),
    ],
)
async def test_other_requests_that_are_not_valid(
    gateway: RunningGateway, client: httpx2.AsyncClient, method: str, path: str, body: dict[str, str] | None
) -> None:
    gateway.memory.calls.clear()
    answer = await client.request(method, path, json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")
    assert gateway.memory.calls == []


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/api/nothing", 404, "not-found"),
        ("GET", "/nothing", 404, "not-found"),
        ("GET", "/api/sessions/", 404, "not-found"),
        ("PATCH", "/api/settings", 405, "method-not-allowed"),
        ("DELETE", "/api/sessions", 405, "method-not-allowed"),
    ],
)
async def test_what_does_not_exist_is_a_problem_too(
    client: httpx2.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "url", "body", "why"),
    [
        (
            "PUT",
            "/api/settings",
            {"currency": SECRET},
            {"at": ["body", "currency"], "why": "string_pattern_mismatch", "pattern": "^[A-Z]{3}$"},
        ),
        ("GET", "/api/sessions?limit=0", None, {"at": ["query", "limit"], "why": "greater_than_equal", "ge": 1}),
        ("GET", f"/api/sessions/{SECRET}", None, {"at": ["path", "session_id"], "why": "uuid_parsing"}),
    ],
)
async def test_what_was_wanted_is_said(
    client: httpx2.AsyncClient, method: str, url: str, body: dict[str, str] | None, why: dict[str, object]
) -> None:
    answer = await client.request(method, url, json=body)
    assert answer.json()["errors"] == [why]
    assert SECRET not in answer.text
