"""Plays a scenario: sets up what is given and says the turns over the public API, and looks at what came of each."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import httpx2
from tests.support.conversation import Conversation
from tests.support.scenarios.log_faults import faults_of_growth, faults_of_log, faults_of_requests
from tests.support.scenarios.observed import (
    ObservedTurn,
    blocks_in,
    corrections_in,
    memory_block_in,
    notices_in,
    plan_in,
    steps_in,
)
from tests.support.scenarios.scenario import Given, Turn, UserAct
from tests.support.stored_sessions import StoredSession, StoredSessions

from common.memory_api.sessions import LogEntry
from common.memory_api.turns import ModelCallKind
from common.memory_api.usage import TurnModelCall

_ACTS = {UserAct.CONFIRM_ORDER: "confirm", UserAct.CANCEL_ORDER: "cancel"}


class Player:
    """One user. `sessions` reads what memory has stored of theirs."""

    def __init__(self, talking: Conversation, sessions: StoredSessions) -> None:
        self._talking = talking
        self._sessions = sessions
        self._log: Sequence[LogEntry] = ()

    async def set_up(self, given: Given) -> None:
        for key, fact in given.facts.items():
            await self._ask("PUT", f"/api/preferences/{self._talking.user}/{key}", fact.model_dump(mode="json"))
        if given.settings:
            settings = await self._ask("GET", "/api/settings")
            await self._ask("PUT", "/api/settings", {**settings, **given.settings})
        for item_id in given.favourites:
            await self._ask("PUT", f"/api/favourites/{item_id}")
        for skill in given.skills:
            await self._ask("POST", "/api/skills", skill.model_dump())

    async def play(self, turn: Turn) -> ObservedTurn:
        """Say it, and wait until its curation is over too."""
        for act in turn.before:
            newest = (await self._orders())[0]
            await self._ask("POST", f"/api/orders/{newest['order_id']}/{_ACTS[act]}")
        if turn.new_session:
            await self._talking.new_session()
            self._log = ()
        turn_id = await self._talking.say(turn.say)
        view = await self._talking.curated(turn_id)
        stored = await self._sessions.read(self._talking.user, UUID(self._talking.session_id))
        calls = [TurnModelCall.model_validate(call) for call in await self._talking.usage()]
        faults = [*faults_of_growth(self._log, stored.log), *faults_of_log(stored.log), *faults_of_requests(calls)]
        self._log = stored.log
        own_calls = [call for call in calls if str(call.turn_id) == turn_id]
        orders = () if turn.expect.orders is None else await self._orders()
        return await self._observed(view, stored, own_calls, orders, faults)

    async def _observed(
        self,
        view: dict[str, Any],
        stored: StoredSession,
        calls: Sequence[TurnModelCall],
        orders: Sequence[dict[str, Any]],
        faults: Sequence[str],
    ) -> ObservedTurn:
        entries = [entry for entry in stored.log if str(entry.turn_id) == view["turn_id"]]
        return ObservedTurn(
            status=view["status"],
            reply=view["reply"] or "",
            items=view["items"],
            steps=steps_in(entries),
            plan=plan_in(entries),
            memory_block=memory_block_in(entries),
            notices=notices_in(entries),
            corrections=corrections_in(entries),
            blocks=blocks_in(entries),
            session_constraints=stored.constraints,
            facts=await self._talking.facts(),
            orders=orders,
            main_calls=sum(call.kind is ModelCallKind.MAIN for call in calls),
            log_faults=faults,
        )

    async def _orders(self) -> list[dict[str, Any]]:
        """Newest first."""
        return list((await self._ask("GET", "/api/orders"))["orders"])

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer: httpx2.Response = await self._talking.client.request(method, path, json=body)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return dict(answer.json()) if answer.content else {}
