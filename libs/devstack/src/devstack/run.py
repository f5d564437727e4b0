"""`python -m devstack run`: everything stays up until Ctrl-C; what ends by itself is started again."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from devstack.errors import StackError, StartFailed
from devstack.local_files import LocalFiles
from devstack.settings import DevstackSettings
from devstack.stack import Stack
from devstack.terminal.screen import Screen

LOCAL_TENANT = "local"
LOCAL_USER = "me"

_LOOK_SECONDS = 0.3
_RESTARTS = 10
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")


async def run_stack(settings: DevstackSettings, screen: Screen) -> int:
    """Runs until it is cancelled, or a service has ended too often."""
    files = LocalFiles.under(settings.local_directory)
    async with Stack(settings, files, screen.step) as stack:
        show_addresses(screen, stack)
        logs = LogFollower(files.logs)
        restarts = 0
        while restarts <= _RESTARTS:
            for name, line in logs.new_lines():
                screen.part(f"{name:>13} | ", _colour(name))
                screen.line(line)
            restarts += await _start_ended_again(stack, screen)
            await asyncio.sleep(_LOOK_SECONDS)
    raise StackError(f"services have ended {restarts} times; see {files.logs}")


def show_addresses(screen: Screen, stack: Stack) -> None:
    token = stack.token(LOCAL_TENANT, LOCAL_USER)
    screen.title("ShoppingX 已就绪 · is ready")
    screen.line(f"  API        {stack.gateway_url}/api")
    screen.line(f"  OpenAPI    {stack.gateway_url}/docs")
    for name in stack.process_names:
        screen.line(f"  {name:<13} {stack.services.url(name)}", "dim")
    screen.line(f"  令牌 · token of {LOCAL_USER} in {LOCAL_TENANT}:")
    screen.line(token)
    screen.line("  试试 · try:  make chat   (另开终端 · in another terminal)")
    screen.line("  Ctrl-C 结束 · to stop")


class LogFollower:
    """Reads what was appended to the log files since the last look, whole lines only."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._positions = {file: file.stat().st_size for file in directory.glob("*.log")}

    def new_lines(self) -> Iterator[tuple[str, str]]:
        for file in sorted(self._directory.glob("*.log")):
            with file.open("rb") as log:
                log.seek(self._positions.get(file, 0))
                whole, newline, _ = log.read().rpartition(b"\n")
            self._positions[file] = self._positions.get(file, 0) + len(whole) + len(newline)
            for line in whole.decode(errors="replace").splitlines():
                yield file.stem, line


async def _start_ended_again(stack: Stack, screen: Screen) -> int:
    ended = stack.services.ended()
    for name in ended:
        code = stack.services.child(name).exit_code
        screen.line(f"{name} 已退出 · ended with {code}; 重新启动 · starting it again", "bold red")
        try:
            await stack.start_again(name)
        except StartFailed as error:
            screen.line(str(error), "red")
    return len(ended)


def _colour(name: str) -> str:
    return _COLOURS[sum(name.encode()) % len(_COLOURS)]
