"""Two replicas of each service, every connection of theirs through a link, and somebody who breaks all of it."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from redis.asyncio import Redis
from redis.exceptions import RedisError
from tests.chaos.storm.faults import LINKS, REPLICAS, Fault, FaultKind
from tests.chaos.storm.link import Link
from tests.support.databases import PASSWORDS
from tests.support.processes import Processes

from devstack.database import DatabaseUrls, create_database, migrate
from devstack.errors import StackError
from devstack.ports import LOOPBACK
from devstack.servers.postgres import EmbeddedPostgres
from devstack.services import OFFLINE_MODEL, SERVICES

_POLL_SECONDS = 0.2

_TIMES = {
    "memory": {
        # A busy machine may leave a healthy worker without a processor for seconds.
        "LEASE_SECONDS": "5",
        "SWEEP_INTERVAL_SECONDS": "0.5",
        "REPUBLISH_SECONDS": "3",
        "PUBLISH_GRACE_SECONDS": "1",
        "BACKOFF_SECONDS": "0.5",
        "MAX_ATTEMPTS": "12",
        "TURN_DEADLINE_SECONDS": "120",
        "CIRCUIT_COOL_DOWN_SECONDS": "3",
    },
    "gateway": {"TURNS_PER_MINUTE": "100000", "BACKLOG_LIMIT": "100000"},
    "agent": {"MODEL_FIRST_CHUNK_SECONDS": "8", "MODEL_BETWEEN_CHUNKS_SECONDS": "8"},
    "curator": {"MODEL_FIRST_CHUNK_SECONDS": "8", "MODEL_BETWEEN_CHUNKS_SECONDS": "8"},
}


class StormySystem:
    def __init__(self, postgres: EmbeddedPostgres, processes: Processes, links: dict[str, Link]) -> None:
        self.postgres = postgres
        self.processes = processes
        self.links = links
        self.done: Counter[FaultKind] = Counter()
        self.kills = 0
        """SIGKILLs of services, at crash points too."""
        self._down: set[str] = set()
        """Replicas that stay down for a while."""
        self._armed: dict[str, Fault] = {}
        """How a replica is to be started next."""
        self._lasting: set[asyncio.Task[None]] = set()
        self._servers = asyncio.Lock()
        """One server is restarted at a time."""

    @property
    def gateways(self) -> list[str]:
        return [self.processes.url("gateway"), self.processes.url("gateway-2")]

    async def storm(self, faults: Iterator[Fault]) -> None:
        """Until it is cancelled; what it began to break goes on until `calm`."""
        for fault in faults:
            await asyncio.sleep(fault.pause)
            self.done[fault.kind] += 1
            self._lasting.add(asyncio.create_task(self._inflict(fault)))

    async def keep_alive(self) -> None:
        """Start again what has died, as an orchestrator does, until cancelled."""
        while True:
            for name in REPLICAS:
                if name not in self._down and self.processes.has_ended(name):
                    await self._start(name)
            await asyncio.sleep(_POLL_SECONDS)

    async def calm(self) -> None:
        """Everything that was begun has ended, and everything runs and is reached."""
        await asyncio.gather(*self._lasting)
        self._armed.clear()
        for link in self.links.values():
            link.delay, link.closed = 0.0, False
        for name in REPLICAS:
            await self._is_ready(name)

    async def _is_ready(self, name: str) -> None:
        for _ in range(3):  # an armed one may still die where it was to
            with suppress(StackError):
                await self.processes.wait_ready(name, timeout=120.0)
                return
            await asyncio.sleep(2 * _POLL_SECONDS)
        raise StackError(f"{name} does not come back")

    async def _start(self, name: str) -> None:
        if name in self._armed:
            point = self._armed.pop(name).point
            assert point is not None
            await self.processes.start_armed(name, point, wait=False)
            return
        self.kills += self.processes.was_killed(name)
        await self.processes.start(name, wait=False)

    async def _inflict(self, fault: Fault) -> None:
        match fault.kind:
            case FaultKind.KILL:
                await self._kill(fault)
            case FaultKind.CRASH:
                self._armed[fault.target] = fault  # for its next start
                await self._kill(fault)
            case FaultKind.STOP_POSTGRES | FaultKind.CRASH_POSTGRES:
                await self._restart_postgres(fault)
            case FaultKind.KILL_VALKEY:
                async with self._servers:
                    self.processes.valkey.kill()
                    await asyncio.sleep(fault.seconds)
                    await self.processes.valkey.start()
            case FaultKind.WIPE_VALKEY:
                with suppress(RedisError, OSError):
                    async with Redis.from_url(self.processes.redis_url) as redis:
                        await redis.flushall()
            case _:
                await self._change_weather(self.links[fault.target], fault)

    async def _kill(self, fault: Fault) -> None:
        self._down.add(fault.target)
        self.processes.kill(fault.target)
        await asyncio.sleep(fault.seconds)
        self._down.discard(fault.target)

    async def _restart_postgres(self, fault: Fault) -> None:
        async with self._servers:
            if fault.kind is FaultKind.CRASH_POSTGRES and self.postgres.pid is not None:
                os.kill(self.postgres.pid, signal.SIGQUIT)
            await self.postgres.stop()
            await asyncio.sleep(fault.seconds)
            await self.postgres.start()

    @staticmethod
    async def _change_weather(link: Link, fault: Fault) -> None:
        match fault.kind:
            case FaultKind.DELAY:
                link.delay = fault.amount
                await asyncio.sleep(fault.seconds)
                link.delay = 0.0
            case FaultKind.RESET:
                link.reset()
            case FaultKind.CUT:
                link.cut(int(fault.amount))
            case _:
                link.closed = True
                link.reset()
                await asyncio.sleep(fault.seconds)
                link.closed = False


@asynccontextmanager
async def stormy_system(directory: Path, report: Callable[[str], None]) -> AsyncIterator[StormySystem]:
    """Everything started, in fair weather; nothing of it is left afterwards."""
    async with AsyncExitStack() as cleanup:
        links = {name: Link(name) for name in LINKS}
        for link in links.values():
            await link.start()
            cleanup.push_async_callback(link.stop)
        report("PostgreSQL, with everything it does on disk: it will be killed")
        postgres = EmbeddedPostgres(directory / "postgres", "only-for-tests", directory / "postgres.log")
        cleanup.push_async_callback(postgres.stop)
        await postgres.start()
        admin_url = await create_database(postgres.url, "storm")
        await migrate(admin_url, PASSWORDS)
        processes = _processes(DatabaseUrls.of(admin_url, PASSWORDS), directory, links)
        cleanup.callback(processes.kill_all)
        links["postgres"].targets = [_port(postgres.url)]
        links["valkey"].targets = [_port(processes.redis_url)]
        links["memory"].targets = [_port(processes.url("memory")), _port(processes.url("memory-2"))]
        links["model"].targets = [_port(processes.url(OFFLINE_MODEL))]
        report("services, two of each")
        await processes.start_all()
        for name in SERVICES:
            await processes.start(f"{name}-2", wait=False)
        for name in SERVICES:
            await processes.wait_ready(f"{name}-2")
        yield StormySystem(postgres, processes, links)


def _processes(database: DatabaseUrls, directory: Path, links: dict[str, Link]) -> Processes:
    """Processes that reach nothing but through a link."""
    straight = Processes(database, directory)
    redis = {"REDIS_URL": _through(straight.redis_url, links["valkey"])}
    model_url = f"http://{LOOPBACK}:{links['model'].port}/v1"
    memory_url = {"MEMORY_URL": f"http://{LOOPBACK}:{links['memory'].port}"}
    model = {"MODEL_BASE_URL": model_url, "EMBEDDING_BASE_URL": model_url}
    linked = {
        "memory": {
            "MEMORY_DATABASE_URL": _through(database.app, links["postgres"]),
            "MEMORY_DISPATCH_DATABASE_URL": _through(database.dispatch, links["postgres"]),
            **redis,
        },
        "gateway": {**memory_url, **redis},
        "agent": {**memory_url, **redis, **model},
        "curator": {**memory_url, **redis, **model},
    }
    for name, told in linked.items():
        straight.tell(name, {**told, **_TIMES[name]})
    return straight


def _through(url: str, link: Link) -> str:
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    return urlunsplit(parts._replace(netloc=f"{login}@{LOOPBACK}:{link.port}"))


def _port(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
