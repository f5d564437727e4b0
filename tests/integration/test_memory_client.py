"""The client of the memory service against answers of another release's memory."""

from fastapi import FastAPI
from pydantic import SecretStr
from tests.support.serving import LOOPBACK, WithoutSignals, serving
from uvicorn import Config

from common.clock import SystemClock
from common.ids import new_id
from common.memory_api.base import Owner
from common.memory_api.client import MemoryClient
from common.memory_api.facts import ReadFacts
from common.memory_api.operations import READ_FACTS
from gateway.server import listening_socket

FACT = {
    "fact_id": str(new_id()),
    "key": "diet",
    "value": "吃素",
    "category": "constraint",
    "source": "user",
    "seq": 1,
    "session_id": None,
    "turn_id": None,
    "evidence": 0,
    "created_at": "2026-11-30T00:00:00Z",
    "updated_at": "2026-11-30T00:00:00Z",
}


async def test_what_a_newer_memory_says_beyond_the_known_is_passed_over() -> None:
    app = FastAPI()

    @app.post(READ_FACTS.url_path)
    async def answer() -> dict[str, object]:
        return {"facts": [{**FACT, "mood": "new"}], "weather": "new"}

    config = Config(app, log_config=None, access_log=False, ws="none")
    async with serving(WithoutSignals(config), listening_socket(LOOPBACK, 0)) as url:
        client = MemoryClient(url, SecretStr("token"), SystemClock(), retry_for=0.0)
        try:
            read = await client.call(READ_FACTS, ReadFacts(owner=Owner(tenant_id="t", user_id="u")))
        finally:
            await client.close()
    assert [fact.key for fact in read.facts] == ["diet"]
