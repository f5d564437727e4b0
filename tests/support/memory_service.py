"""A real memory service over HTTP in this process, with a clock that tests can move."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import uvicorn
from pydantic import SecretStr

from common.clock import SystemClock
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.client import MemoryClient
from common.memory_api.curation import ClaimCuration, CurationInput, Ingest
from common.memory_api.facts import Cleared, ClearMemory, Fact, FactOutcome, ListFacts, ProposedFact, SaveFact
from common.memory_api.operations import Service
from common.memory_api.sessions import CreateSession, Layer, NewLogEntry
from common.memory_api.turns import AcceptedTurn, AcceptTurn, AppendStep, ClaimedTurn, ClaimTurn, FinishTurn
from devstack.database import DatabaseUrls
from memory.app import build
from memory.settings import MemorySettings


class MovableClock(SystemClock):
    """Real time plus what a test has added."""

    def __init__(self) -> None:
        self._added = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._added

    def advance(self, seconds: float) -> None:
        self._added += timedelta(seconds=seconds)


@dataclass
class ATurn:
    """An accepted turn as a test follows it."""

    owner: Owner
    session_id: UUID
    turn_id: UUID
    token: UUID


class MemoryService:
    """Clients for each caller, and the steps of a turn in a few words."""

    def __init__(self, url: str, settings: MemorySettings, clock: MovableClock) -> None:
        self.url = url
        self.settings = settings
        self.clock = clock
        tokens = settings.service_tokens()
        self.clients = {service: MemoryClient(url, tokens[service], clock, retry_for=2.0) for service in Service}

    async def close(self) -> None:
        for client in self.clients.values():
            await client.close()

    async def call(self, service: Service, operation: op.Operation[Any, Any], request: Any) -> Any:
        return await self.clients[service].call(operation, request)

    async def new_session(self, owner: Owner) -> UUID:
        session = await self.call(Service.GATEWAY, op.CREATE_SESSION, CreateSession(owner=owner))
        return UUID(str(session.session_id))

    async def accept(
        self, owner: Owner, text: str = "我对坚果过敏", session_id: UUID | None = None, key: str | None = None
    ) -> ATurn:
        session = session_id or await self.new_session(owner)
        accepted: AcceptedTurn = await self.call(
            Service.GATEWAY,
            op.ACCEPT_TURN,
            AcceptTurn(owner=owner, session_id=session, idempotency_key=key or str(uuid4()), text=text),
        )
        return ATurn(owner, session, accepted.turn.turn_id, uuid4())

    async def claim(self, turn: ATurn) -> ClaimedTurn:
        request = ClaimTurn(owner=turn.owner, turn_id=turn.turn_id, lease_token=turn.token)
        claimed: ClaimedTurn = await self.call(Service.AGENT, op.CLAIM_TURN, request)
        return claimed

    async def append(self, turn: ATurn, head: int, *payloads: str, bears_memory: bool = False) -> int:
        entries = [
            NewLogEntry(entry_id=new_id(), layer=Layer.L3, payload=payload, bears_memory=bears_memory)
            for payload in payloads
        ]
        answer = await self.call(
            Service.AGENT,
            op.APPEND_STEP,
            AppendStep(
                owner=turn.owner, turn_id=turn.turn_id, lease_token=turn.token, expected_head=head, entries=entries
            ),
        )
        return int(answer.head)

    async def save(self, turn: ATurn, key: str, value: str, call_id: str = "call-1") -> FactOutcome:
        outcome: FactOutcome = await self.call(
            Service.AGENT,
            op.SAVE_FACT,
            SaveFact(
                owner=turn.owner,
                turn_id=turn.turn_id,
                lease_token=turn.token,
                call_id=call_id,
                proposed=ProposedFact(key=key, value=value, category="constraint"),
            ),
        )
        return outcome

    async def finish(
        self, turn: ATurn, head: int, reply: str = "好的", session_constraints: dict[str, Any] | None = None
    ) -> None:
        await self.call(
            Service.AGENT,
            op.FINISH_TURN,
            FinishTurn(
                owner=turn.owner,
                turn_id=turn.turn_id,
                lease_token=turn.token,
                expected_head=head,
                entries=[
                    NewLogEntry(
                        entry_id=new_id(), layer=Layer.L3, payload='{"role":"assistant","content":"' + reply + '"}'
                    )
                ],
                reply=reply,
                session_constraints=session_constraints,
            ),
        )

    async def complete(self, owner: Owner, text: str = "我对坚果过敏", session_id: UUID | None = None) -> ATurn:
        """Accept, claim and finish a turn."""
        turn = await self.accept(owner, text, session_id)
        claimed = await self.claim(turn)
        await self.finish(turn, claimed.head)
        return turn

    async def claim_curation(self, turn: ATurn, token: UUID, run: int = 0) -> CurationInput:
        request = ClaimCuration(owner=turn.owner, turn_id=turn.turn_id, lease_token=token, run=run)
        claimed: CurationInput = await self.call(Service.CURATOR, op.CLAIM_CURATION, request)
        return claimed

    async def ingest(self, turn: ATurn, token: UUID, *proposed: ProposedFact, run: int = 0) -> list[FactOutcome]:
        answer = await self.call(
            Service.CURATOR,
            op.INGEST,
            Ingest(owner=turn.owner, turn_id=turn.turn_id, lease_token=token, run=run, proposed=list(proposed)),
        )
        return list(answer.outcomes)

    async def curate(self, turn: ATurn, *proposed: ProposedFact) -> list[FactOutcome]:
        token = uuid4()
        await self.claim_curation(turn, token)
        return await self.ingest(turn, token, *proposed)

    async def clear(self, owner: Owner) -> Cleared:
        request = ClearMemory(owner=owner, request_id=uuid4())
        answer: Cleared = await self.call(Service.GATEWAY, op.CLEAR_MEMORY, request)
        return answer

    async def facts(self, owner: Owner) -> dict[str, Fact]:
        answer = await self.call(Service.GATEWAY, op.LIST_FACTS, ListFacts(owner=owner))
        return {fact.key: fact for fact in answer.facts}


def memory_settings(database: DatabaseUrls, redis_url: str, directory: Path, **changes: Any) -> MemorySettings:
    key_file = directory / "master.key"
    if not key_file.exists():
        key_file.write_text(base64.b64encode(bytes(range(32))).decode())
    told: dict[str, Any] = {
        "memory_database_url": SecretStr(database.app),
        "memory_dispatch_database_url": SecretStr(database.dispatch),
        "redis_url": SecretStr(redis_url),
        "memory_master_key_file": key_file,
        **{f"service_token_{service}": SecretStr(f"token-of-the-{service}") for service in Service},
        # Tests sweep by hand, unless they ask for the sweeper.
        "sweep_interval_seconds": 3_600,
        "replay_interval_seconds": 3_600,
        "database_pool_size": 5,
        **changes,
    }
    return MemorySettings(**told)


@asynccontextmanager
async def serving_memory(settings: MemorySettings, clock: MovableClock | None = None) -> AsyncIterator[MemoryService]:
    """Serve on a free port until the block ends."""
    clock = clock or MovableClock()
    server = uvicorn.Server(uvicorn.Config(build(settings, clock), port=0, log_config=None, access_log=False))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
        if serving.done():
            serving.result()
    port = server.servers[0].sockets[0].getsockname()[1]
    service = MemoryService(f"http://127.0.0.1:{port}", settings, clock)
    try:
        yield service
    finally:
        await service.close()
        server.should_exit = True
        await serving
