"""Shoppers that cause load: each has one session at a time and one turn at a time."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import urlsplit
from uuid import uuid4

from bench.http_client import Connection

TURNS_PER_SESSION = 5
"""Then a new session is opened, so that the history is as long as in an ordinary conversation."""

_marks = count(1)


@dataclass
class TurnRecord:
    """What was seen of one turn; times in seconds of `time.perf_counter`."""

    mark: str
    due_at: float
    """When the turn was to be sent: under open-loop load a late sender is part of what the user waits for."""
    turn_id: str = ""
    accepted_at: float = 0.0
    ended_at: float = 0.0
    status: str = "unanswered"
    search_ms: list[int] = field(default_factory=list)
    items: int = 0

    @property
    def turn_ms(self) -> float:
        return (self.ended_at - self.due_at) * 1_000


class Shopper:
    def __init__(self, gateway_url: str, token: str) -> None:
        parts = urlsplit(gateway_url)
        host, port = str(parts.hostname), int(parts.port or 80)
        self._requests, self._events = Connection(host, port), Connection(host, port)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._session_id = ""
        self._turns = 0

    async def prepare(self) -> None:
        """Open a session where the turn to come needs a new one; that is not part of a turn."""
        if self._turns % TURNS_PER_SESSION == 0:
            answer = await self._requests.ask("POST", "/api/sessions", self._headers)
            if answer.status != 201:
                raise ConnectionError(f"a session was answered with {answer.status}")
            self._session_id = answer.body["session_id"]

    async def turn(
        self,
        text: Callable[[str], str],
        due_at: float | None = None,
        *,
        on_answer: Callable[[], None] | None = None,
    ) -> TurnRecord:
        """Post a turn and follow it until its curation is told. `text` is given the turn's mark."""
        record = TurnRecord(f"m{next(_marks)}", time.perf_counter() if due_at is None else due_at)
        await self.post(record, text(record.mark))
        if record.turn_id:
            await self.follow(record, on_answer)
        return record

    async def post(self, record: TurnRecord, text: str) -> None:
        answer = await self._requests.ask(
            "POST",
            f"/api/sessions/{self._session_id}/turns",
            {**self._headers, "Idempotency-Key": str(uuid4())},
            {"text": text},
        )
        record.accepted_at = time.perf_counter()
        self._turns += 1
        if answer.status == 202:
            record.turn_id = answer.body["turn_id"]
        else:
            record.status = f"answered {answer.status}"

    async def follow(self, record: TurnRecord, on_answer: Callable[[], None] | None = None) -> None:
        async for event in self._events.events(f"/api/turns/{record.turn_id}/events", self._headers):
            if event.name == "tool.finished" and event.data["tool"] == "item_search":
                record.search_ms.append(event.data["duration_ms"])
            elif event.name in ("turn.completed", "turn.failed", "turn.cancelled"):
                record.ended_at = time.perf_counter()
                record.status = event.name
                record.items = len(event.data.get("items", ()))
                if on_answer is not None:
                    on_answer()

    def close(self) -> None:
        self._requests.close()
        self._events.close()


class Crowd:
    """Free shoppers to give turns to; every turn gets one who has nothing else to do."""

    def __init__(self, make: Callable[[int], Shopper]) -> None:
        self._make = make
        self._free: asyncio.Queue[Shopper] = asyncio.Queue()
        self._all: list[Shopper] = []

    async def grow(self, size: int) -> None:
        while len(self._all) < size:
            shopper = self._make(len(self._all))
            await shopper.prepare()
            self._all.append(shopper)
            self._free.put_nowait(shopper)

    async def turn(self, text: Callable[[str], str], due_at: float) -> TurnRecord:
        try:
            shopper = self._free.get_nowait()
        except asyncio.QueueEmpty:
            return TurnRecord("", due_at, status="nobody was free")
        record = await shopper.turn(text, due_at)
        await shopper.prepare()
        self._free.put_nowait(shopper)
        return record

    def close(self) -> None:
        for shopper in self._all:
            shopper.close()
