"""One Compose project: its containers, by service, and what is done to them."""

import asyncio
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from devstack.errors import StackError

COMPOSE_FILES = ("docker-compose.yml", "docker-compose.development.yml")


def compose_command() -> list[str]:
    """Compose v2 is a plugin of `docker`, 1.29 a program of its own. Raises StackError where there is neither."""
    if shutil.which("docker"):
        plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        if plugin.returncode == 0:
            return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise StackError("没有找到 Docker Compose · Docker Compose was not found")


class ComposeProject:
    """`environment_file` holds the variables of the Compose files; the containers of other projects are not touched."""

    def __init__(self, name: str, directory: Path, environment_file: Path) -> None:
        self.name = name
        self._directory = directory
        self._environment_file = environment_file

    async def build(self) -> None:
        await self._compose("build", "--quiet")

    async def up(self) -> None:
        """Start everything, in the order of the dependencies. Returns once the last service has been started."""
        await self._compose("up", "--detach", "--remove-orphans")

    async def down(self, *, volumes: bool = False) -> None:
        await self._compose("down", "--remove-orphans", *(["--volumes"] if volumes else []))

    async def address(self, service: str, port: int) -> str:
        """Where a container's port is published: `127.0.0.1:32768`."""
        return (await self._compose("port", service, str(port))).strip()

    async def run_in(self, service: str, *command: str) -> str:
        """Run a command in a running container of the service and return what it printed."""
        return await self._compose("exec", "-T", service, *command)

    async def containers(self, service: str) -> list[str]:
        """The names of a service's replicas, also of stopped ones."""
        listed = await run(
            "docker", "ps", "--all", "--format", "{{.Names}}",
            "--filter", f"label=com.docker.compose.project={self.name}",
            "--filter", f"label=com.docker.compose.service={service}",
        )  # fmt: skip
        return sorted(listed.split())

    async def not_ready(self) -> list[str]:
        """The names of running containers whose health check has not passed."""
        listed = await run(
            "docker", "ps", "--format", "{{.Names}} {{.Status}}",
            "--filter", f"label=com.docker.compose.project={self.name}",
        )  # fmt: skip
        waiting = ("(health: starting)", "(unhealthy)")
        return [line.split()[0] for line in listed.splitlines() if line.endswith(waiting)]

    async def logs(self) -> str:
        return await self._compose("logs", "--no-color")

    async def _compose(self, *arguments: str) -> str:
        files = [f"--file={self._directory / file}" for file in COMPOSE_FILES]
        options = [f"--project-name={self.name}", f"--env-file={self._environment_file}", *files]
        return await run(*compose_command(), *options, *arguments)


async def run(*command: str) -> str:
    """Run a program to its end and return what it printed. Raises StackError when it fails."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    output, complaints = (words.decode(errors="replace") for words in await process.communicate())
    if process.returncode != 0:
        raise StackError(f"{_shown(command)} ended with {process.returncode}\n{output}{complaints}")
    return output


def _shown(command: Sequence[str]) -> str:
    return " ".join(word for word in command if not word.startswith("--"))
