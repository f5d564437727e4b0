"""Where the story is told: a stack started for it with the embedded servers, or the containers of `make up`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

from devstack.compose.system import ComposeSystem
from devstack.errors import StackError
from devstack.local_files import LocalFiles
from devstack.settings import DevstackSettings
from devstack.stack import Stack
from devstack.terminal.screen import Screen

_TENANT = "demo"
_USER = "xiaolin"


@dataclass(frozen=True)
class DemoTarget:
    """A running system with a user it has never seen."""

    gateway_url: str
    redis_url: str
    user_id: str
    token: str
    check_invariants: Callable[[], Awaitable[str]]
    """Raises StackError when one is broken."""


@asynccontextmanager
async def local_target(settings: DevstackSettings, screen: Screen) -> AsyncIterator[DemoTarget]:
    """Everything on fresh data, and nothing of it left afterwards."""
    files = LocalFiles.under(settings.local_directory).demo()
    with files.locked():
        files.remove()
    async with Stack(settings, files, screen.step) as stack:
        yield DemoTarget(
            gateway_url=stack.gateway_url,
            redis_url=stack.redis_url,
            user_id=_USER,
            token=stack.token(_TENANT, _USER),
            check_invariants=lambda: stack.memory_command("check-invariants", "--settled"),
        )


@asynccontextmanager
async def compose_target(settings: DevstackSettings, screen: Screen) -> AsyncIterator[DemoTarget]:
    """The containers stay as they are, with what is in their database; so the user is a new one every time."""
    system = ComposeSystem.prepared(settings, LocalFiles.under(settings.local_directory))
    if not await system.ready():
        raise StackError("没有容器在运行 · no containers are running; start them with `make up`")
    screen.step(f"容器 · through the load balancer at {system.gateway_url}")
    user_id = f"{_USER}-{uuid4().hex[:8]}"
    yield DemoTarget(
        gateway_url=system.gateway_url,
        redis_url=await system.redis_url(),
        user_id=user_id,
        token=system.token(_TENANT, user_id),
        check_invariants=lambda: system.memory_command("check-invariants", "--settled"),
    )


TARGETS = {"local": local_target, "compose": compose_target}
