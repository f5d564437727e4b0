"""Servers with fresh data, and the services that a part of the evaluation starts on them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from devstack.commands import run_command
from devstack.database import DatabaseUrls, create_database, migrate
from devstack.local_files import LocalFiles
from devstack.model_endpoint import chosen_endpoint
from devstack.secrets import Secrets
from devstack.servers.postgres import EmbeddedPostgres
from devstack.servers.valkey import EmbeddedValkey
from devstack.services import (
    OFFLINE_MODEL,
    Connections,
    ServiceProcesses,
    catalogue_environment,
    service_environments,
)
from devstack.settings import DevstackSettings
from devstack.stream_groups import create_stream_groups

_LOCAL = Path(".local").absolute()


@dataclass(frozen=True)
class Servers:
    files: LocalFiles
    secrets: Secrets
    database: DatabaseUrls
    services: ServiceProcesses
    connections: Connections

    async def start(self, *names: str, **changes: str) -> None:
        """Start these services and wait until they are ready; `changes` are added to what each is told."""
        told = service_environments(self.connections, self.secrets, self.services.url("memory"))
        for name in names:
            await self.services.start(name, {**told[name], **changes})

    async def build_catalogue(self) -> None:
        """Needs the offline model; does nothing where the vectors lie already."""
        await run_command(["agent", "build-catalogue"], catalogue_environment(self.connections))

    def token(self, tenant: str, user: str) -> str:
        return self.files.signing_keys().token(tenant, user, datetime.now(UTC))


@asynccontextmanager
async def running_servers() -> AsyncIterator[Servers]:
    """PostgreSQL, migrated, and Valkey; whatever is started on them is stopped and removed at the end."""
    files = LocalFiles(_LOCAL / "eval-memory", _LOCAL / "catalogue")
    files.remove()
    async with AsyncExitStack() as cleanup:
        cleanup.callback(files.remove)
        secrets = files.secrets()
        postgres = EmbeddedPostgres(files.postgres, secrets.postgres_password, files.logs / "postgres.log")
        cleanup.push_async_callback(postgres.stop)
        await postgres.start()
        valkey = EmbeddedValkey(files.valkey, secrets.valkey_password, files.logs / "valkey.log")
        cleanup.push_async_callback(valkey.stop)
        await valkey.start()
        await create_stream_groups(valkey.url)
        admin = await create_database(postgres.url, "shoppingx")
        await migrate(admin, secrets.role_passwords)
        services = ServiceProcesses(files.logs)
        cleanup.push_async_callback(services.stop_all)
        database = DatabaseUrls.of(admin, secrets.role_passwords)
        connections = Connections(
            database=database,
            redis_url=valkey.url,
            model=chosen_endpoint(DevstackSettings(), services.url(OFFLINE_MODEL)),
            catalogue=files.catalogue,
            jwt_public_key=files.signing_keys().public_file,
            memory_master_key=files.memory_master_key(),
        )
        yield Servers(files, secrets, database, services, connections)
