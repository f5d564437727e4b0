"""What the chapters of the story share: the user's client, the screen, the sessions so far, and the claims."""

from collections.abc import Awaitable, Callable
from typing import Any

from redis.asyncio import Redis

from common.memory_api.turns import ModelCallKind
from common.memory_api.usage import TurnModelCall
from devstack.demo.claims import Claims
from devstack.demo.record import TurnRecord
from devstack.gateway_client import GatewayClient, TurnEvent
from devstack.terminal.screen import Screen
from devstack.terminal.tables import show_facts
from devstack.terminal.turn_view import TurnView


async def _only_watch(_: TurnEvent) -> None:
    pass


class Telling:
    """`user_id` is the user of the client's token; `check_invariants` raises StackError when one is broken."""

    def __init__(
        self,
        client: GatewayClient,
        redis: Redis,
        user_id: str,
        check_invariants: Callable[[], Awaitable[str]],
        screen: Screen,
    ) -> None:
        self.client = client
        self.redis = redis
        self.user_id = user_id
        self.check_invariants = check_invariants
        self.screen = screen
        self.claims = Claims(screen)
        self.sessions: dict[str, str] = {}
        """Ids by the letter under which the story speaks of them."""
        self._chapters = 0

    @property
    def check(self) -> Callable[..., None]:
        return self.claims.check

    def chapter(self, title: str) -> None:
        self._chapters += 1
        self.screen.title(f"{self._chapters} · {title}")

    async def says(
        self, session: str, text: str, *, also: Callable[[TurnEvent], Awaitable[None]] = _only_watch
    ) -> TurnRecord:
        """One turn in that session, which is opened with its first turn. It is shown while it happens; `also` is called
        with each of its events. Returns once its curation is over too."""
        if session not in self.sessions:
            self.sessions[session] = await self.client.create_session()
            self.screen.line(f"会话 · session {session}", "dim")
        session_id = self.sessions[session]
        self.screen.line(f"用户 · user: {text}", "bold")
        record = TurnRecord(session_id, await self.client.post_turn(session_id, text))
        view = TurnView(self.screen)
        async for event in self.client.events(record.turn_id):
            record.add(event)
            view.show(event)
            await also(event)
        return record

    async def facts(self) -> list[dict[str, Any]]:
        """What is remembered, shown as a table."""
        facts = await self.client.preferences()
        show_facts(self.screen, facts)
        return facts

    async def prompt_layers(self, session: str) -> set[str]:
        """The layers of which the session's main prompts were made, as the agent recorded them."""
        usage = await self.client.usage(self.sessions[session])
        return {layer for call in usage.calls if call.kind is ModelCallKind.MAIN for layer in call.layer_hashes}

    async def all_calls(self) -> dict[str, list[TurnModelCall]]:
        """The model calls of every session so far."""
        return {name: (await self.client.usage(session)).calls for name, session in self.sessions.items()}
