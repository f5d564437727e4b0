"""A user of the public API, as tests play one: posts turns, waits for their end, reads facts and events."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

import httpx2
from tests.support.waiting import wait_for

ENDED = ("completed", "failed", "cancelled")
ENDING_EVENTS = tuple(f"turn.{status}" for status in ENDED)


class RunningSystem(Protocol):
    """What a user needs to know of it: processes on this machine, or containers."""

    def client(self, user: str = "u1", tenant: str = "t1") -> httpx2.AsyncClient:
        """A client with a valid token; the caller closes it."""
        ...

    async def check_invariants(self, *, settled: bool = True) -> None:
        """Fails, with the violations, when the database breaks an invariant."""
        ...


@dataclass
class SseEvent:
    name: str
    data: dict[str, Any]
    entry_id: str | None = None


@dataclass
class Conversation:
    """One user with one session."""

    processes: RunningSystem
    user: str
    client: httpx2.AsyncClient
    session_id: str = ""
    turns: list[str] = field(default_factory=list)

    async def new_session(self) -> str:
        answer = await self.client.post("/api/sessions")
        assert answer.status_code == 201, answer.text
        self.session_id = answer.json()["session_id"]
        return self.session_id

    async def post(self, text: str, key: str | None = None) -> httpx2.Response:
        return await self.client.post(
            f"/api/sessions/{self.session_id}/turns",
            json={"text": text},
            headers={"Idempotency-Key": key or str(uuid4())},
        )

    async def say(self, text: str, key: str | None = None) -> str:
        """Post a turn that must be accepted; returns its id."""
        answer = await self.post(text, key)
        assert answer.status_code == 202, answer.text
        turn_id: str = answer.json()["turn_id"]
        self.turns.append(turn_id)
        return turn_id

    async def insist(self, text: str, key: str) -> str:
        """Post with one key until it is answered with 202, as a client does that was told 503 or nothing."""
        answer: httpx2.Response | None = None

        async def accepted() -> bool:
            nonlocal answer
            try:
                answer = await self.post(text, key)
            except httpx2.TransportError:
                return False
            return answer.status_code == 202

        await wait_for(accepted, "the turn is accepted", timeout=40.0, every=0.2)
        assert answer is not None
        turn_id: str = answer.json()["turn_id"]
        return turn_id

    async def turn(self, turn_id: str) -> dict[str, Any]:
        answer = await self.client.get(f"/api/turns/{turn_id}")
        assert answer.status_code == 200, answer.text
        view: dict[str, Any] = answer.json()
        return view

    async def ended(self, turn_id: str, timeout: float = 40.0, every: float = 0.1) -> dict[str, Any]:
        """Wait until the turn has ended, through outages of the services."""
        view: dict[str, Any] = {}

        async def has_ended() -> bool:
            nonlocal view
            try:
                view = await self.turn(turn_id)
            except (httpx2.HTTPError, AssertionError):
                return False
            return view["status"] in ENDED

        await wait_for(has_ended, f"turn {turn_id} has ended", timeout=timeout, every=every)
        return view

    async def followed(self, turn_id: str) -> dict[str, Any]:
        """Wait for the turn's end by its events, as a page does: many users who poll keep a small machine busy."""
        events = self.events(turn_id)
        async with aclosing(events):
            async for event in events:
                if event.name in ENDING_EVENTS:
                    return await self.turn(turn_id)
        raise AssertionError(f"the stream of turn {turn_id} closed before its end")

    async def curated(self, turn_id: str, timeout: float = 40.0) -> dict[str, Any]:
        """Wait until the turn has ended and its curation too."""
        view = await self.ended(turn_id, timeout)

        async def is_curated() -> bool:
            nonlocal view
            try:
                view = await self.turn(turn_id)
            except (httpx2.HTTPError, AssertionError):
                return False
            return view["curation"] in ("done", "dead", "none")

        await wait_for(is_curated, f"turn {turn_id} is curated", timeout=timeout, every=0.1)
        return view

    async def facts(self) -> dict[str, dict[str, Any]]:
        answer = await self.client.get("/api/preferences")
        assert answer.status_code == 200, answer.text
        return {fact["key"]: fact for fact in answer.json()["facts"]}

    async def usage(self) -> list[dict[str, Any]]:
        answer = await self.client.get(f"/api/sessions/{self.session_id}/usage")
        assert answer.status_code == 200, answer.text
        calls: list[dict[str, Any]] = answer.json()["calls"]
        return calls

    async def events(self, turn_id: str, after: str | None = None) -> AsyncGenerator[SseEvent]:
        """The turn's events until the stream closes."""
        headers = {"Last-Event-ID": after} if after else {}
        async with self.client.stream("GET", f"/api/turns/{turn_id}/events", headers=headers) as answer:
            assert answer.status_code == 200, await answer.aread()
            event = SseEvent("", {})
            async for line in answer.aiter_lines():
                name, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if name == "event":
                    event.name = value
                elif name == "id":
                    event.entry_id = value
                elif name == "data":
                    event.data = json.loads(value)
                elif not line and event.name:
                    yield event
                    event = SseEvent("", {})


@asynccontextmanager
async def conversation(
    processes: RunningSystem, user: str | None = None, tenant: str = "t1"
) -> AsyncIterator[Conversation]:
    """A user nobody else is, with a fresh session."""
    name = user or f"u-{uuid4()}"
    async with processes.client(name, tenant) as client:
        talking = Conversation(processes, name, client)
        await talking.new_session()
        yield talking
