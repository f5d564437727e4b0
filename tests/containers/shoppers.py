"""Users who keep shopping while containers come and go, and what they were promised."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx2
from tests.containers.system import SystemInContainers
from tests.support.conversation import ENDED, Conversation, SseEvent
from tests.support.waiting import wait_for

TEXT = "记住我对坚果过敏。想找一个通勤双肩包，500 元以内，寄德国 [[offline:slow=0.02]]"
"""Slow enough for a container to be stopped in the middle of it; about two seconds."""

_RECONNECTS = 60
_RECONNECT_SECONDS = 0.5


class Shopper:
    """Posts a turn, follows it to its end over however many connections that takes, and posts the next."""

    def __init__(self, user: Conversation) -> None:
        self.user = user
        self.accepted: list[str] = []
        self.ended = 0

    async def shop_until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            turn_id = await self.user.insist(TEXT, str(uuid4()))
            self.accepted.append(turn_id)
            told = await followed(self.user, turn_id)
            ids = [event.entry_id for event in told if event.entry_id]
            assert len(ids) == len(set(ids)), "told twice"
            self.ended += 1

    async def got_what_was_promised(self) -> None:
        """Every accepted turn took effect, once: it is listed once, completed, and its curation is done."""
        listed = await self.user.client.get(f"/api/sessions/{self.user.session_id}/turns")
        assert [turn["turn_id"] for turn in listed.json()["turns"]] == self.accepted
        for turn_id in self.accepted:
            view = await self.user.curated(turn_id, timeout=60.0)
            assert (view["status"], view["curation"]) == ("completed", "done"), view
        assert (await self.user.facts())["nut_allergy"]["category"] == "constraint"


async def followed(user: Conversation, turn_id: str) -> list[SseEvent]:
    """The turn's events as a client sees them that resumes after every cut, until the answer has ended."""
    told: list[SseEvent] = []
    for _ in range(_RECONNECTS):
        last = next((event.entry_id for event in reversed(told) if event.entry_id), None)
        try:
            async for event in user.events(turn_id, after=last):
                told.append(event)
        except (httpx2.TransportError, AssertionError):  # cut off, or refused by a load balancer without gateways
            await asyncio.sleep(_RECONNECT_SECONDS)
        if any(event.name.removeprefix("turn.") in ENDED for event in told):
            return told
    raise AssertionError(f"turn {turn_id} was never told to its end: {[event.name for event in told]}")


class Shoppers:
    def __init__(self, shoppers: list[Shopper]) -> None:
        self._shoppers = shoppers

    @property
    def turns_ended(self) -> int:
        return sum(shopper.ended for shopper in self._shoppers)

    async def go_on(self, turns: int = 3) -> None:
        """Wait until that many more turns have ended."""
        enough = self.turns_ended + turns
        await wait_for(lambda: self.turns_ended >= enough, f"{turns} more turns have ended", timeout=90.0, every=0.1)


@asynccontextmanager
async def shopping(system: SystemInContainers, users: int = 3) -> AsyncIterator[Shoppers]:
    """Load while the block runs; afterwards every promise to every user is checked, and the invariants."""
    stop = asyncio.Event()
    clients = [(f"u-{uuid4()}", system.client) for _ in range(users)]
    conversations = [Conversation(system, name, client(name)) for name, client in clients]
    try:
        for conversation in conversations:
            await conversation.new_session()
        shoppers = [Shopper(conversation) for conversation in conversations]
        async with asyncio.TaskGroup() as tasks:
            for shopper in shoppers:
                tasks.create_task(shopper.shop_until(stop))
            try:
                yield Shoppers(shoppers)
            finally:
                stop.set()
        for shopper in shoppers:
            await shopper.got_what_was_promised()
        await system.check_invariants()
    finally:
        for conversation in conversations:
            await conversation.client.aclose()
