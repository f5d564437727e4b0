"""Bad input to the internal API: a clear answer, nothing echoed, and the work goes on."""

import json

import httpx2
import pytest
from tests.support.memory_service import MemoryService

from common.memory_api import operations as op
from common.memory_api.base import Owner

TOKEN = {"Authorization": "Bearer token-of-the-gateway"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"owner":{"tenant_id":"t1","user_id":"u1"},"surprise":1}',
        b'{"owner":{"tenant_id":"t1","user_id":""}}',
        b'{"owner":{"tenant_id":"t1","user_id":"a\\u0000b"}}',
        b'{"owner":{"tenant_id":"t1","user_id":"x; DROP TABLE users"}}',
    ],
)
async def test_what_is_not_a_request_is_told_so(memory: MemoryService, body: bytes) -> None:
    async with httpx2.AsyncClient(base_url=memory.url, headers=TOKEN, trust_env=False) as client:
        answer = await client.post(op.CREATE_SESSION.url_path, content=body)
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert "DROP" not in answer.text


@pytest.mark.parametrize("text", ["a\u0000b", "\ud800", "", "   ", "x" * 1_000_000])
async def test_text_that_cannot_be_kept_is_refused(memory: MemoryService, owner: Owner, text: str) -> None:
    session_id = await memory.new_session(owner)
    body = {
        "owner": owner.model_dump(),
        "session_id": str(session_id),
        "idempotency_key": "k",
        "text": text,
    }
    async with httpx2.AsyncClient(base_url=memory.url, headers=TOKEN, trust_env=False) as client:
        answer = await client.post(op.ACCEPT_TURN.url_path, content=json.dumps(body))
        assert answer.status_code == 422
    assert (await memory.accept(owner, "还好", session_id)).turn_id


@pytest.mark.parametrize("text", ["emoji 👍🏽 مرحبا \u202e 𠀀", "{}", "<script>", "'; --", "%s %(x)s :name"])
async def test_any_other_text_is_kept_as_it_is(memory: MemoryService, owner: Owner, text: str) -> None:
    turn = await memory.accept(owner, text)
    assert (await memory.claim(turn)).text == text


@pytest.mark.parametrize("authorization", [None, "", "Bearer", "Bearer wrong", "Basic dG9rZW4=", "bearer \xff"])
async def test_nobody_gets_in_without_a_token(memory: MemoryService, authorization: str | None) -> None:
    headers = {b"Authorization": authorization.encode("latin-1")} if authorization is not None else {}
    async with httpx2.AsyncClient(base_url=memory.url, trust_env=False) as client:
        for operation in op.all_operations():
            answer = await client.post(operation.url_path, headers=headers, content=b"{}")
            assert answer.status_code == 401
            assert answer.json()["code"] == "unauthenticated"
