"""Users who do not give up: they ask again with the same key until they are answered, and keep what they were told."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from bench.http_client import Answer, Connection
from tests.chaos.storm import texts

ENDED = ("completed", "failed", "cancelled")
TENANT = "storm"

_TURNS_PER_SESSION = 5
_REQUEST_SECONDS = 15.0
_PATIENCE_SECONDS = 300.0
_POLL_SECONDS = 1.0
_UNREACHED = (OSError, EOFError, TimeoutError, ValueError)
"""How a connection that breaks anywhere shows itself to a client that reads HTTP by hand."""


@dataclass
class Ledger:
    """What the users were told."""

    accepted: dict[str, str] = field(default_factory=dict)
    """Turn ids, with their users."""
    ended: dict[str, str] = field(default_factory=dict)
    """Turn ids, with the end that was seen."""
    accepted_twice: list[str] = field(default_factory=list)
    ended_twice: list[str] = field(default_factory=list)
    cleared: dict[str, str] = field(default_factory=dict)
    """Users who cleared their memory, with a word that it had held."""

    def saw_end(self, turn_id: str, status: str) -> None:
        if self.ended.setdefault(turn_id, status) != status:
            self.ended_twice.append(turn_id)


class Gateways:
    """Whichever of them answers."""

    def __init__(self, urls: Sequence[str], token: str, random: Random) -> None:
        addresses = [(str(parts.hostname), int(parts.port or 80)) for parts in map(urlsplit, urls)]
        self._connections = [Connection(host, port) for host, port in addresses]
        self._streams = [Connection(host, port) for host, port in addresses]
        self._headers = {"Authorization": f"Bearer {token}"}
        self._random = random

    async def insist(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Ask until somebody says yes or no. Raises TimeoutError when the patience is over."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                answer = await self._try(method, path, body, {**self._headers, **(headers or {})})
                if answer is not None and answer.status < 500 and answer.status != 429:
                    return answer
                await asyncio.sleep(self._random.uniform(0.1, 0.6))

    async def watch_end(self, turn_id: str) -> None:
        """Follow the turn's events until its answer has ended, or until the stream breaks."""
        stream = self._random.choice(self._streams)
        try:
            async with asyncio.timeout(4 * _REQUEST_SECONDS):
                async for event in stream.events(f"/api/turns/{turn_id}/events", self._headers):
                    if event.name in ("turn.completed", "turn.failed", "turn.cancelled"):
                        break
        except _UNREACHED:
            await asyncio.sleep(_POLL_SECONDS)
        finally:
            stream.close()

    def close(self) -> None:
        for connection in (*self._connections, *self._streams):
            connection.close()

    async def _try(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer | None:
        connection = self._random.choice(self._connections)
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                return await connection.ask(method, path, headers, body)
        except _UNREACHED:
            connection.close()
            return None


class Shopper:
    def __init__(self, user: str, number: int, gateways: Gateways, ledger: Ledger, random: Random) -> None:
        self.user = user
        self._number = number
        self._gateways = gateways
        self._ledger = ledger
        self._random = random
        self._session = ""
        self._turns = 0

    async def shop(self, turns: int, at_once: asyncio.Semaphore, pace: asyncio.Semaphore, *, clears: bool) -> None:
        """Take so many turns, one after the other, each when `pace` lets it begin; clear the memory in the middle if
        asked to."""
        for number in range(turns):
            await pace.acquire()
            async with at_once:
                if clears and number == turns // 2:
                    await self._clear_in_mid_turn()
                else:
                    await self._take_turn(texts.a_turn(self._random, self._number * 1_000 + number))

    async def _take_turn(self, text: str) -> None:
        turn_id, key = await self._say(text)
        if self._random.random() < 0.02:
            await self._gateways.insist("POST", f"/api/turns/{turn_id}/cancel")
        if self._random.random() < 0.1:
            await self._say_again(turn_id, key, text)
        await self._await_end(turn_id)

    async def _clear_in_mid_turn(self) -> None:
        """A word that the memory holds, and answers quote; then it is cleared, while a turn is under way."""
        canary = "canary" + "".join(self._random.choices("ghijklmnop", k=12))
        url = f"/api/preferences/{self.user}"
        await self._gateways.insist("PUT", f"{url}/material_avoid", {"value": f"不要{canary}材质"})
        turn_id, _ = await self._say(texts.quoting(self._random))
        await asyncio.sleep(self._random.uniform(0.0, 2.0))
        cleared = await self._gateways.insist("DELETE", url)
        assert cleared.status == 200, f"a clear was answered with {cleared.status}"
        self._ledger.cleared[self.user] = canary
        self._session = ""
        await self._await_end(turn_id)

    async def _say(self, text: str) -> tuple[str, str]:
        """The turn's id, and the key it was said with."""
        key = str(uuid4())
        while True:
            if not self._session or self._turns >= _TURNS_PER_SESSION:
                self._session = (await self._gateways.insist("POST", "/api/sessions")).body["session_id"]
                self._turns = 0
            answer = await self._post(text, key)
            if answer.status == 202:
                turn_id: str = answer.body["turn_id"]
                self._ledger.accepted[turn_id] = self.user
                self._turns += 1
                return turn_id, key
            assert answer.status == 409, f"a turn was answered with {answer.status}"
            # The session is busy with a turn whose end somebody else has to bring, or has ended.
            self._session = self._session if answer.body["code"] == "turn-open" else ""
            await asyncio.sleep(self._random.uniform(0.2, 0.6))

    async def _say_again(self, turn_id: str, key: str, text: str) -> None:
        answer = await self._post(text, key)
        if answer.status != 202 or answer.body["turn_id"] != turn_id:
            self._ledger.accepted_twice.append(turn_id)

    async def _post(self, text: str, key: str) -> Answer:
        path = f"/api/sessions/{self._session}/turns"
        return await self._gateways.insist("POST", path, {"text": text}, {"Idempotency-Key": key})

    async def _await_end(self, turn_id: str) -> None:
        give_up_at = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < give_up_at:
            await self._gateways.watch_end(turn_id)
            answer = await self._gateways.insist("GET", f"/api/turns/{turn_id}")
            assert answer.status == 200, f"a turn that was accepted is answered with {answer.status}"
            if answer.body["status"] in ENDED:
                self._ledger.saw_end(turn_id, answer.body["status"])
                return
            await asyncio.sleep(_POLL_SECONDS)
