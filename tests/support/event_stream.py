"""A client of the gateway's event streams that shows exactly what was sent."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2


@dataclass(frozen=True)
class Received:
    """`id` is None for an event that was sent without one."""

    id: str | None
    event: str
    data: dict[str, Any]


@dataclass
class EventStream:
    response: httpx2.Response
    comments: list[str] = field(default_factory=list)
    retries: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._events = self._parse()

    async def next(self) -> Received:
        return await anext(self._events)

    async def until(self, event: str) -> list[Received]:
        """Everything up to and with the first such event."""
        received = []
        async for item in self._events:
            received.append(item)
            if item.event == event:
                return received
        raise AssertionError(f"the stream ended without {event}: {[item.event for item in received]}")

    async def rest(self) -> list[Received]:
        """Everything until the server ends the stream."""
        return [item async for item in self._events]

    async def _parse(self) -> AsyncIterator[Received]:
        fields: dict[str, str] = {}
        data: list[str] = []
        async for line in self.response.aiter_lines():
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if not line and data:
                yield Received(fields.get("id"), fields["event"], json.loads("\n".join(data)))
                fields, data = {}, []
            elif name == "data":
                data.append(value)
            elif name == "retry":
                self.retries.append(int(value))
            elif line.startswith(":"):
                self.comments.append(value)
            elif name:
                fields[name] = value


@asynccontextmanager
async def event_stream(
    client: httpx2.AsyncClient, turn_id: UUID, last_event_id: str | None = None
) -> AsyncIterator[EventStream]:
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    async with client.stream("GET", f"/api/turns/{turn_id}/events", headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        yield EventStream(response)
