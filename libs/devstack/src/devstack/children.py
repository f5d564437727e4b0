"""A process that we started: it writes its log to a file, and dies with us."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devstack import launch_child
from devstack.errors import StartFailed
from devstack.servers.operating_user import OperatingUser

# What a child may know of our own environment; everything else it is told explicitly.
_INHERITED = (
    "PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "VIRTUAL_ENV",
    "SSL_CERT_FILE", "SSL_CERT_DIR",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
_POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Program:
    """What to run. The kernel sends it `death_signal` when we end; we send it `stop_signal` to stop it."""

    name: str
    command: Sequence[str]
    log_file: Path
    environment: Mapping[str, str]
    user: OperatingUser | None = None
    death_signal: signal.Signals = signal.SIGKILL
    stop_signal: signal.Signals = signal.SIGTERM


class Child:
    """A started program. Start it from the main thread: the kernel ends it with the thread it came from."""

    def __init__(self, program: Program) -> None:
        self._program = program
        program.log_file.parent.mkdir(parents=True, exist_ok=True)
        with program.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                launch_command(program.command, program.user, program.death_signal),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=child_environment(program.environment),
                cwd="/" if program.user else None,
                # A session of its own: Ctrl-C reaches us alone, and we stop the children in order.
                start_new_session=True,
            )

    @property
    def name(self) -> str:
        return self._program.name

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.poll()

    async def wait_until(self, ready: Callable[[], Awaitable[bool]], timeout: float) -> None:
        """Wait for `ready`. Raises StartFailed when the process ends first, or after `timeout` seconds."""
        give_up_at = time.monotonic() + timeout
        while True:
            exit_code = self.exit_code  # read first: what ends while it is asked for may be what is waited for
            if await ready():
                return
            if exit_code is not None:
                raise StartFailed(self.name, f"ended with code {exit_code}", self._program.log_file)
            if time.monotonic() > give_up_at:
                raise StartFailed(self.name, f"was not ready after {timeout:g} s", self._program.log_file)
            await asyncio.sleep(_POLL_SECONDS)

    async def wait(self, timeout: float) -> int:
        """Wait for its end and return the exit code. Raises StartFailed after `timeout` seconds."""

        async def ended() -> bool:
            return self.exit_code is not None

        await self.wait_until(ended, timeout)
        return self._process.wait()

    async def stop(self, timeout: float = 15.0) -> None:
        """Ask it to end; kill it if it has not after `timeout` seconds."""
        if self.exit_code is not None:
            return
        self._process.send_signal(self._program.stop_signal)
        try:
            await self.wait(timeout)
        except StartFailed:
            self.kill()

    def kill(self) -> None:
        """SIGKILL, as a crash would: nothing is flushed and nobody is told."""
        self._process.kill()
        self._process.wait()


def launch_command(
    command: Sequence[str], user: OperatingUser | None = None, death_signal: signal.Signals = signal.SIGKILL
) -> list[str]:
    """The command line that runs `command` as `user` and lets it die with this process."""
    as_user = [f"--uid={user.uid}", f"--gid={user.gid}"] if user else []
    launcher = [sys.executable, "-I", "-S", str(Path(launch_child.__file__).resolve())]
    return [*launcher, f"--parent={os.getpid()}", f"--signal={int(death_signal)}", *as_user, "--", *command]


def child_environment(environment: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return {**inherited, "PYTHONUNBUFFERED": "1", **environment}
