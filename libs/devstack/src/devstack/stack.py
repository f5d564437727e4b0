"""Everything of ShoppingX on one machine: servers, set-up steps, offline model, services, in this order."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from devstack.commands import run_command
from devstack.database import DatabaseUrls, create_database, migrate
from devstack.errors import StackError
from devstack.local_files import LocalFiles, RunningStack
from devstack.model_endpoint import chosen_endpoint, needs_offline_model
from devstack.servers.postgres import EmbeddedPostgres
from devstack.servers.valkey import EmbeddedValkey
from devstack.services import (
    OFFLINE_MODEL,
    SERVICES,
    Connections,
    ServiceProcesses,
    catalogue_environment,
    service_environments,
)
from devstack.settings import DevstackSettings
from devstack.stream_groups import create_stream_groups

DATABASE_NAME = "shoppingx"

Report = Callable[[str], None]


class Stack:
    """Use it as an async context manager: it is complete when entered, and nothing of it is left afterwards."""

    def __init__(self, settings: DevstackSettings, files: LocalFiles, report: Report) -> None:
        self._settings = settings
        self._files = files
        self._report = report
        self._secrets = files.secrets()
        self._keys = files.signing_keys()
        self._cleanup = AsyncExitStack()
        ports = {"gateway": settings.gateway_port} if settings.gateway_port else None
        self.services = ServiceProcesses(files.logs, ports)
        self._environments: dict[str, dict[str, str]] = {}
        self._redis_url: str | None = None

    async def __aenter__(self) -> "Stack":
        async with AsyncExitStack() as cleanup:
            cleanup.enter_context(self._files.locked())
            self._files.remove_logs()
            await self._start(cleanup)
            cleanup.enter_context(self._files.announced(self._as_running()))
            self._cleanup = cleanup.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._report("正在停止 · stopping")
        await self._cleanup.aclose()

    @property
    def gateway_url(self) -> str:
        return self.services.url("gateway")

    @property
    def redis_url(self) -> str:
        if self._redis_url is None:
            raise StackError("The stack has not started")
        return self._redis_url

    @property
    def process_names(self) -> list[str]:
        return list(self._environments)

    def token(self, tenant: str, user: str) -> str:
        return self._keys.token(tenant, user, datetime.now(UTC))

    async def start_again(self, name: str) -> None:
        await self.services.start(name, self._environments[name])

    async def memory_command(self, *arguments: str) -> str:
        """Run `python -m memory ...` against this stack and return what it printed."""
        return await run_command(["memory", *arguments], self._environments["memory"])

    async def _start(self, cleanup: AsyncExitStack) -> None:
        database = await self._start_database(cleanup)
        self._redis_url = await self._start_redis(cleanup)
        self._report("迁移数据库 · migrating the database")
        await migrate(database.admin, self._secrets.role_passwords)
        await create_stream_groups(self._redis_url)

        connections = self._connections(database, self._redis_url)
        told = service_environments(connections, self._secrets, self.services.url("memory"))
        names = ([OFFLINE_MODEL] if needs_offline_model(self._settings) else []) + list(SERVICES)
        self._environments = {name: {**told[name], "LOG_FORMAT": "logfmt"} for name in names}
        cleanup.push_async_callback(self.services.stop_all)

        if OFFLINE_MODEL in names:
            self._report("离线模型 · starting the offline model")
            await self.services.start(OFFLINE_MODEL, self._environments[OFFLINE_MODEL])
        self._report("商品目录 · building the catalogue's vectors (once)")
        await run_command(["agent", "build-catalogue"], catalogue_environment(connections))
        self._report(f"服务 · starting {', '.join(SERVICES)}")
        for name in SERVICES:
            await self.services.start(name, self._environments[name], wait=False)
        for name in SERVICES:
            await self.services.wait_ready(name)

    async def _start_database(self, cleanup: AsyncExitStack) -> DatabaseUrls:
        if self._settings.database_url is not None:
            return DatabaseUrls.of(self._settings.database_url.get_secret_value(), self._secrets.role_passwords)
        self._report("PostgreSQL 18 · starting the embedded server")
        server = EmbeddedPostgres(
            self._files.postgres, self._secrets.postgres_password, self._files.logs / "postgres.log"
        )
        cleanup.push_async_callback(server.stop)
        await server.start()
        admin_url = await create_database(server.url, DATABASE_NAME)
        return DatabaseUrls.of(admin_url, self._secrets.role_passwords)

    async def _start_redis(self, cleanup: AsyncExitStack) -> str:
        if self._settings.redis_url is not None:
            return self._settings.redis_url.get_secret_value()
        self._report("Valkey 9 · starting the embedded server")
        server = EmbeddedValkey(self._files.valkey, self._secrets.valkey_password, self._files.logs / "valkey.log")
        cleanup.push_async_callback(server.stop)
        await server.start()
        return server.url

    def _connections(self, database: DatabaseUrls, redis_url: str) -> Connections:
        return Connections(
            database=database,
            redis_url=redis_url,
            model=chosen_endpoint(self._settings, self.services.url(OFFLINE_MODEL)),
            catalogue=self._files.catalogue,
            jwt_public_key=self._keys.public_file,
            memory_master_key=self._files.memory_master_key(),
            qdrant_url=self._settings.qdrant_url,
            turns_per_minute=self._settings.turns_per_minute,
        )

    def _as_running(self) -> RunningStack:
        return RunningStack(self.gateway_url, self._environments["memory"])
