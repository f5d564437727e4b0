"""A turn that is cut off anywhere leaves a history that a provider takes: the real client and the real memory service,
and an endpoint that checks what it is sent (row 18 of facts/context.md 4.2)."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from tests.support.memory_service import ATurn, MemoryService, memory_settings, serving_memory
from tests.unit.agent.memory_in_process import OWNER, MemoryInProcess
from tests.unit.agent.scripted_agent import DyingAt, ScriptedAgent
from tests.unit.model_client.scripted_endpoint import answer, delta, fragment, serving, streamed, text

from common.clock import SystemClock
from common.crash_points import CrashPoint
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import TurnRequest
from common.memory_api.operations import Service
from common.memory_api.turns import FailureCode, TurnStatus, TurnView
from devstack.database import DatabaseUrls
from model_client.client import ModelClient, ModelTimeouts
from model_client.profiles import PROFILES
from offline_model.chat.requests import ChatMessage, check_tool_results
from offline_model.errors import InvalidRequest

TWO_CALLS = streamed(
    fragment('{"query":"双肩包"}', index=0, id="call-a", name="item_search"),
    fragment('{"query":"行李箱"}', index=1, id="call-b", name="item_search"),
    delta("tool_calls"),
)
HALF_A_CALL = streamed(text("我再看"), fragment('{"que', index=0, id="call-c", name="item_search"), done=False)
AN_ANSWER = streamed(text("推荐第一款。", "stop"))


@dataclass
class CheckingEndpoint:
    """Refuses, as providers do, a conversation whose calls and results do not pair; else plays its script.

    Side calls (they ask for a format) get something that is no answer to them.
    """

    script: list[bytes]
    conversations: list[list[dict[str, Any]]] = field(default_factory=list)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
        body = json.loads(await reader.readexactly(length))
        writer.write(self._reply(body))
        await writer.drain()
        writer.close()

    def _reply(self, body: dict[str, Any]) -> bytes:
        try:
            check_tool_results([ChatMessage.model_validate(message) for message in body["messages"]])
        except InvalidRequest:
            return answer(400, b"{}")
        if "response_format" in body:
            return AN_ANSWER
        self.conversations.append(body["messages"])
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


class RemoteMemory:
    """The agent's memory of one turn, over HTTP."""

    def __init__(self, service: MemoryService, turn: ATurn) -> None:
        self.session_id, self.turn_id = turn.session_id, turn.turn_id
        self.call = service.clients[Service.AGENT].call


@pytest.fixture(scope="module")
async def memory(
    module_database: DatabaseUrls, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MemoryService]:
    settings = memory_settings(module_database, valkey, tmp_path_factory.mktemp("memory"))
    async with serving_memory(settings) as service:
        yield service


async def work_on(memory: MemoryService, turn: ATurn, endpoint: CheckingEndpoint, dies: DyingAt | None = None) -> None:
    async with serving(endpoint.handle) as url:
        client = ModelClient(
            url,
            "key",
            PROFILES["generic"],
            SystemClock(),
            lambda: f"call_{new_id().hex}",
            timeouts=ModelTimeouts(connect=1.0, first_chunk=2.0, between_chunks=2.0, total=5.0),
        )
        remote = cast(MemoryInProcess, RemoteMemory(memory, turn))
        await ScriptedAgent(remote, model=client, dies=dies).run()
        await client.close()


async def view_of(memory: MemoryService, turn: ATurn) -> TurnView:
    view: TurnView = await memory.call(
        Service.GATEWAY, op.GET_TURN, TurnRequest(owner=turn.owner, turn_id=turn.turn_id)
    )
    return view


async def test_a_turn_whose_answer_breaks_off_fails_clearly_and_the_next_one_works(memory: MemoryService) -> None:
    broken = await memory.accept(OWNER, "找一个双肩包")
    endpoint = CheckingEndpoint([TWO_CALLS, HALF_A_CALL])
    await work_on(memory, broken, endpoint)
    view = await view_of(memory, broken)
    assert (view.status, view.failure) == (TurnStatus.FAILED, FailureCode.MODEL_UNAVAILABLE)
    assert view.reply
    assert len(endpoint.conversations) == 5  # the calls, and four attempts that broke off
    await assert_next_turn_works(memory, broken.session_id, "call-a", "call-b")


async def test_calls_that_nobody_ran_have_results_before_the_next_turn(memory: MemoryService) -> None:
    interrupted = await memory.accept(OWNER, "找一个双肩包")
    await work_on(memory, interrupted, CheckingEndpoint([TWO_CALLS]), DyingAt(CrashPoint.AGENT_STEP_STORED))
    cancelled = TurnRequest(owner=OWNER, turn_id=interrupted.turn_id)
    await memory.call(Service.GATEWAY, op.CANCEL_TURN, cancelled)
    history = await assert_next_turn_works(memory, interrupted.session_id, "call-a", "call-b")
    results = [message for message in history if message["role"] == "tool"]
    assert all("interrupted" in message["content"] for message in results)


async def assert_next_turn_works(memory: MemoryService, session_id: UUID, *call_ids: str) -> list[dict[str, Any]]:
    """Returns the history that the next turn's request showed: every call with exactly one result."""
    following = await memory.accept(OWNER, "那行李箱呢", session_id, key=str(uuid4()))
    endpoint = CheckingEndpoint([AN_ANSWER])
    await work_on(memory, following, endpoint)
    view = await view_of(memory, following)
    assert (view.status, view.reply) == (TurnStatus.COMPLETED, "推荐第一款。")
    history = endpoint.conversations[0]
    assert sorted(message["tool_call_id"] for message in history if message["role"] == "tool") == sorted(call_ids)
    return history
