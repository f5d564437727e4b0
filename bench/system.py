"""The system under measurement: everything on this machine, on servers of its own with fresh data."""

import re
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from pydantic import SecretStr

from devstack.database import create_database
from devstack.local_files import LocalFiles
from devstack.model_endpoint import offline_endpoint
from devstack.servers.postgres import EmbeddedPostgres
from devstack.servers.valkey import EmbeddedValkey
from devstack.services import OFFLINE_MODEL, SERVICES
from devstack.settings import DevstackSettings
from devstack.stack import Stack

_EMBEDDED = re.compile(r"event=embeddings\.answered .*\bduration_ms=([\d.]+)")
_ANSWERED = re.compile(r"event=chat\.answered .*\bpart=(?:planner|main)\b.*\bduration_ms=([\d.]+) mark=(\w+)")

_NO_LIMIT = 1_000_000
"""Turns per minute: one shopper of a bench asks faster than any person."""


@dataclass(frozen=True)
class System:
    stack: Stack
    files: LocalFiles
    database: asyncpg.Connection
    """As the superuser, who sees every row and when it was committed."""
    processes: dict[str, int]
    """Process ids by name."""

    @property
    def offline_model_url(self) -> str:
        return self.stack.services.url(OFFLINE_MODEL)

    @property
    def memory_url(self) -> str:
        return self.stack.services.url("memory")

    @property
    def agent_token(self) -> SecretStr:
        return SecretStr(self.files.secrets().agent_token)

    def model_ms(self) -> dict[str, float]:
        """What the model took for each marked turn, in milliseconds: from a request's arrival at the endpoint to the
        last byte of its answer, over all calls of the turn."""
        spent: dict[str, float] = defaultdict(float)
        log = self.files.logs / f"{OFFLINE_MODEL}.log"
        for line in log.read_text().splitlines():
            if found := _ANSWERED.search(line):
                spent[found[2]] += float(found[1])
        return spent

    def embedding_ms(self) -> list[float]:
        """What the endpoint took for each request for vectors so far, in milliseconds."""
        log = self.files.logs / f"{OFFLINE_MODEL}.log"
        return [float(found[1]) for line in log.read_text().splitlines() if (found := _EMBEDDED.search(line))]

    async def turn_to_fact_ms(self, turn_id: str) -> float | None:
        """From the commit that ended the turn to the commit of a fact from it. None where there is none.

        To be asked before a later turn touches the fact's row.
        """
        seconds = await self.database.fetchval(
            "SELECT extract(epoch FROM min(pg_xact_commit_timestamp(f.xmin)) - min(pg_xact_commit_timestamp(t.xmin))) "
            "FROM turns t JOIN memory_facts f USING (tenant_id, user_id, turn_id) WHERE t.turn_id = $1",
            turn_id,
        )
        return None if seconds is None else float(seconds) * 1_000


@asynccontextmanager
async def running_system(directory: Path, chat_url: str | None = None) -> AsyncIterator[System]:
    """Everything started under `directory` (an absolute path), where the catalogue's vectors may lie already.

    `chat_url`: the base URL that the services are told for chat; without it that of the offline model.
    """
    files = LocalFiles(directory / "bench", directory / "catalogue")
    files.remove()
    async with AsyncExitStack() as cleanup:
        secrets = files.secrets()
        postgres = EmbeddedPostgres(files.postgres, secrets.postgres_password, files.directory / "postgres.log")
        cleanup.push_async_callback(postgres.stop)
        await postgres.start()
        await _note_commit_times(postgres)
        valkey = EmbeddedValkey(files.valkey, secrets.valkey_password, files.directory / "valkey.log")
        cleanup.push_async_callback(valkey.stop)
        await valkey.start()
        database_url = await create_database(postgres.url, "shoppingx")
        endpoint = offline_endpoint("")
        settings = DevstackSettings(
            local_directory=directory,
            database_url=SecretStr(database_url),
            redis_url=SecretStr(valkey.url),
            model_base_url=chat_url,
            model_api_key=SecretStr(endpoint.api_key),
            model_main=endpoint.main,
            model_fast=endpoint.fast,
            turns_per_minute=_NO_LIMIT,
        )
        stack = await cleanup.enter_async_context(Stack(settings, files, lambda step: print(f"  {step}", flush=True)))
        database = await asyncpg.connect(database_url)
        cleanup.push_async_callback(database.close)
        processes = {name: stack.services.child(name).pid for name in (*SERVICES, OFFLINE_MODEL)}
        yield System(stack, files, database, {**processes, "postgres": _pid(postgres), "valkey": _pid(valkey)})


async def _note_commit_times(postgres: EmbeddedPostgres) -> None:
    """PostgreSQL notes when each transaction was committed; takes effect with a restart."""
    connection = await asyncpg.connect(postgres.url)
    try:
        await connection.execute("ALTER SYSTEM SET track_commit_timestamp = on")
    finally:
        await connection.close()
    await postgres.stop()
    await postgres.start()


def _pid(server: EmbeddedPostgres | EmbeddedValkey) -> int:
    if server.pid is None:
        raise RuntimeError("the server does not run")
    return server.pid
