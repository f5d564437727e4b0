"""A client of ShoppingX's public API, as any program outside would write it."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx2

from common.memory_api.usage import Usage
from common.streams.progress import ProgressEvent
from devstack.errors import StackError

_RECONNECT_SECONDS = 0.5
_RECONNECTS = 20


class RequestRefused(StackError):
    """The gateway said no; `code` is that of its problem document."""

    def __init__(self, status: int, code: str, title: str) -> None:
        super().__init__(f"{status} {code}: {title}")
        self.status = status
        self.code = code


@dataclass(frozen=True)
class TurnEvent:
    """One event of a turn's stream; the kinds and their data are in design section 12."""

    event_id: str
    kind: str
    data: dict[str, Any]

    @property
    def ends_answer(self) -> bool:
        return self.kind in (
            ProgressEvent.TURN_COMPLETED,
            ProgressEvent.TURN_FAILED,
            ProgressEvent.TURN_CANCELLED,
        )


class GatewayClient:
    """Speaks for the user of `token`."""

    def __init__(self, base_url: str, token: str) -> None:
        self._http = httpx2.AsyncClient(
            base_url=base_url, headers={"Authorization": f"Bearer {token}"}, timeout=60.0, trust_env=False
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def create_session(self) -> str:
        return str((await self._ask("POST", "/api/sessions"))["session_id"])

    async def post_turn(self, session_id: str, text: str) -> str:
        """Returns the turn's id once it is accepted: from then on it cannot be lost."""
        answer = await self._ask(
            "POST",
            f"/api/sessions/{session_id}/turns",
            body={"text": text},
            headers={"Idempotency-Key": str(uuid4())},
        )
        return str(answer["turn_id"])

    async def get_turn(self, turn_id: str) -> dict[str, Any]:
        return await self._ask("GET", f"/api/turns/{turn_id}")

    async def cancel_turn(self, turn_id: str) -> None:
        await self._ask("POST", f"/api/turns/{turn_id}/cancel")

    async def events(self, turn_id: str) -> AsyncIterator[TurnEvent]:
        """The turn's events until the stream has said everything, also over cut connections."""
        last_event_id: str | None = None
        answered = False
        for _ in range(_RECONNECTS):
            try:
                async for event in self._stream(turn_id, last_event_id):
                    last_event_id = event.event_id or last_event_id
                    answered = answered or event.ends_answer
                    yield event
            except httpx2.TransportError:
                await asyncio.sleep(_RECONNECT_SECONDS)
            if answered:
                return
        raise StackError(f"the event stream of turn {turn_id} broke {_RECONNECTS} times")

    async def preferences(self) -> list[dict[str, Any]]:
        return list((await self._ask("GET", "/api/preferences"))["facts"])

    async def delete_preference(self, user_id: str, key: str) -> None:
        await self._ask("DELETE", f"/api/preferences/{user_id}/{key}")

    async def clear_preferences(self, user_id: str) -> None:
        await self._ask("DELETE", f"/api/preferences/{user_id}")

    async def orders(self) -> list[dict[str, Any]]:
        """Newest first."""
        return list((await self._ask("GET", "/api/orders"))["orders"])

    async def confirm_order(self, order_id: str) -> dict[str, Any]:
        return await self._ask("POST", f"/api/orders/{order_id}/confirm")

    async def cancel_order(self, order_id: str) -> dict[str, Any]:
        return await self._ask("POST", f"/api/orders/{order_id}/cancel")

    async def newest_session(self) -> str | None:
        sessions = (await self._ask("GET", "/api/sessions?limit=1"))["sessions"]
        return str(sessions[0]["session_id"]) if sessions else None

    async def usage(self, session_id: str) -> Usage:
        return Usage.model_validate(await self._ask("GET", f"/api/sessions/{session_id}/usage"))

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        answer = await self._http.request(method, path, json=body, headers=headers)
        if answer.is_success:
            return dict(answer.json()) if answer.content else {}
        raise _refusal(answer)

    async def _stream(self, turn_id: str, last_event_id: str | None) -> AsyncIterator[TurnEvent]:
        headers = {"Accept": "text/event-stream"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        async with self._http.stream("GET", f"/api/turns/{turn_id}/events", headers=headers) as answer:
            if not answer.is_success:
                await answer.aread()
                raise _refusal(answer)
            async for event in parse_events(answer.aiter_lines()):
                yield event


async def parse_events(lines: AsyncIterator[str]) -> AsyncIterator[TurnEvent]:
    """Server-sent events (WHATWG HTML 9.2) with JSON data; comments and events without data are passed over."""
    fields: dict[str, str] = {}
    data: list[str] = []
    event_id = ""
    async for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield TurnEvent(event_id, fields.get("event", "message"), json.loads("\n".join(data)))
            fields, data = {}, []
        elif name == "data":
            data.append(value)
        elif name == "id":
            event_id = value
        elif name:
            fields[name] = value


def _refusal(answer: httpx2.Response) -> RequestRefused:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    title, detail = problem.get("title", answer.reason_phrase), problem.get("detail")
    return RequestRefused(
        answer.status_code, str(problem.get("code", "unknown")), f"{title}: {detail}" if detail else str(title)
    )
