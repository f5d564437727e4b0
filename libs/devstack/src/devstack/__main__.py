"""The command line of the development stack."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from devstack.chat import chat
from devstack.children import child_environment
from devstack.compose.commands import down, up
from devstack.demo.targets import TARGETS
from devstack.demo.tell import tell_demo
from devstack.errors import StackError
from devstack.local_files import LocalFiles
from devstack.run import LOCAL_TENANT, LOCAL_USER, run_stack
from devstack.servers.operating_user import remove_copies
from devstack.servers.wheels import postgres_base
from devstack.settings import DevstackSettings
from devstack.terminal.screen import Screen
from devstack.usage import print_usage

INTERRUPTED = 130


def main() -> int:
    options = _parser().parse_args()
    settings = DevstackSettings()
    screen = Screen()
    try:
        match options.command:
            case "run":
                return _run(run_stack(settings, screen))
            case "chat":
                return _run(chat(settings, screen, options.tenant, options.user))
            case "demo":
                return _run(tell_demo(settings, screen, options.target))
            case "up":
                return _run(up(settings, screen))
            case "down":
                return _run(down(settings, screen, volumes=options.volumes))
            case "usage":
                return _run(print_usage(settings, screen, options.tenant, options.user, options.session))
            case "token":
                return _print_token(settings, options.tenant, options.user)
            case "memory":
                return _memory_command(settings, options.arguments)
            case _:
                return _clean(settings)
    except StackError as error:
        screen.line(str(error), "red")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="devstack", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("run", help="start everything and stay up")
    demo = commands.add_parser("demo", help="tell the story to a new user; exit code 0 when every claim is true")
    demo.add_argument("--target", choices=sorted(TARGETS), default="local")
    commands.add_parser("up", help="build the images and start the containers of docker-compose.yml")
    stop = commands.add_parser("down", help="stop and remove those containers")
    stop.add_argument("--volumes", action="store_true", help="remove their data too")
    for_a_user = {
        name: commands.add_parser(name, help=words)
        for name, words in (
            ("chat", "talk to it in the terminal"),
            ("token", "print a bearer token"),
            ("usage", "show what a session's model calls cost and what came from the prefix cache"),
        )
    }
    for command in for_a_user.values():
        command.add_argument("--tenant", default=LOCAL_TENANT)
        command.add_argument("--user", default=LOCAL_USER)
    for_a_user["usage"].add_argument("--session", default="", help="its id; without one the user's newest session")
    memory = commands.add_parser("memory", help="run `python -m memory ...` against the running stack")
    memory.add_argument("arguments", nargs=argparse.REMAINDER)
    commands.add_parser("clean", help="remove all local data, also what had to lie elsewhere")
    return parser


def _run(main_coroutine: Coroutine[Any, Any, int]) -> int:
    """SIGTERM and Ctrl-C both cancel, so that everything is stopped in order."""

    async def cancelled_by_sigterm() -> int:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await main_coroutine

    try:
        return asyncio.run(cancelled_by_sigterm())
    except (KeyboardInterrupt, asyncio.CancelledError):
        return INTERRUPTED


def _print_token(settings: DevstackSettings, tenant: str, user: str) -> int:
    keys = LocalFiles.under(settings.local_directory).signing_keys()
    print(keys.token(tenant, user, datetime.now(UTC)))
    return 0


def _memory_command(settings: DevstackSettings, arguments: list[str]) -> int:
    """Becomes the command. Raises StackError where no stack runs."""
    running = LocalFiles.under(settings.local_directory).running()
    if running is None:
        raise StackError("没有正在运行的系统 · nothing is running; start it with `make run`")
    command = [sys.executable, "-m", "memory", *arguments]
    os.execve(command[0], command, child_environment(running.memory_environment))


def _clean(settings: DevstackSettings) -> int:
    files = LocalFiles.under(settings.local_directory)
    for installation in (files.demo(), files):
        if installation.running() is not None:
            raise StackError(f"A stack is running on {installation.directory}; stop it first")
        installation.remove()
    remove_copies(postgres_base())
    return 0


if __name__ == "__main__":
    sys.exit(main())
