"""A memory service under measurement: a process of its own, on servers of its own with fresh data."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID, uuid4

from bench.memory.servers import running_servers
from pydantic import SecretStr

from common.clock import SystemClock
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.client import MemoryClient
from common.memory_api.curation import ClaimCuration
from common.memory_api.operations import Service
from common.memory_api.sessions import CreateSession, Layer, NewLogEntry
from common.memory_api.turns import AcceptTurn, ClaimTurn, FinishTurn
from devstack.database import DatabaseUrls

_MEMORY = "memory"
_REPLY = '{"role":"assistant","content":"好的"}'


@dataclass(frozen=True)
class RunningMemory:
    """Clients for its callers, and what stands behind it."""

    clients: dict[Service, MemoryClient]
    database: DatabaseUrls
    master_key: Path

    async def turn_to_curate(self, owner: Owner, text: str) -> tuple[UUID, UUID]:
        """A finished turn of a new session whose curation is claimed: its id, and the lease token."""
        gateway, agent, curator = (self.clients[each] for each in (Service.GATEWAY, Service.AGENT, Service.CURATOR))
        session = await gateway.call(op.CREATE_SESSION, CreateSession(owner=owner))
        accepted = await gateway.call(
            op.ACCEPT_TURN,
            AcceptTurn(owner=owner, session_id=session.session_id, idempotency_key=str(uuid4()), text=text),
        )
        turn_id, token = accepted.turn.turn_id, uuid4()
        claimed = await agent.call(op.CLAIM_TURN, ClaimTurn(owner=owner, turn_id=turn_id, lease_token=token))
        entry = NewLogEntry(entry_id=new_id(), layer=Layer.L3, payload=_REPLY)
        ended = FinishTurn(
            owner=owner, turn_id=turn_id, lease_token=token, expected_head=claimed.head, entries=[entry], reply="好的"
        )
        await agent.call(op.FINISH_TURN, ended)
        await curator.call(op.CLAIM_CURATION, ClaimCuration(owner=owner, turn_id=turn_id, lease_token=token, run=0))
        return turn_id, token


@asynccontextmanager
async def running_memory() -> AsyncIterator[RunningMemory]:
    """A memory process with default settings."""
    async with running_servers() as servers, AsyncExitStack() as cleanup:
        await servers.start(_MEMORY)
        tokens = {
            Service.GATEWAY: servers.secrets.gateway_token,
            Service.AGENT: servers.secrets.agent_token,
            Service.CURATOR: servers.secrets.curator_token,
        }
        url = servers.services.url(_MEMORY)
        clients = {service: MemoryClient(url, SecretStr(token), SystemClock()) for service, token in tokens.items()}
        for client in clients.values():
            cleanup.push_async_callback(client.close)
        yield RunningMemory(clients, servers.database, servers.connections.memory_master_key)
