"""`python -m devstack up` and `down`."""

import time

from devstack.compose.system import ComposeSystem
from devstack.errors import StackError
from devstack.local_files import LocalFiles
from devstack.run import LOCAL_TENANT, LOCAL_USER
from devstack.settings import DevstackSettings
from devstack.terminal.screen import Screen


async def up(settings: DevstackSettings, screen: Screen) -> int:
    """Build the images, start the containers, and return once a user could talk to them."""
    system = ComposeSystem.prepared(settings, LocalFiles.under(settings.local_directory))
    for words, action in (
        ("镜像 · building the images", system.project.build),
        ("容器 · starting the containers", system.project.up),
        ("就绪 · waiting until they can serve", system.wait_ready),
    ):
        started = time.monotonic()
        screen.step(words)
        await action()
        screen.step(f"  {time.monotonic() - started:.0f} s")
    screen.title("ShoppingX 已就绪 · is ready")
    screen.line(f"  API        {system.gateway_url}/api")
    screen.line(f"  OpenAPI    {system.gateway_url}/docs")
    screen.line(f"  令牌 · token of {LOCAL_USER} in {LOCAL_TENANT}:")
    screen.line(system.token(LOCAL_TENANT, LOCAL_USER))
    screen.line("  试试 · try:  make demo TARGET=compose")
    screen.line("  make down 结束 · to stop")
    return 0


async def down(settings: DevstackSettings, screen: Screen, *, volumes: bool) -> int:
    """Stop and remove the containers; the database stays unless its volume is to go too."""
    files = LocalFiles.under(settings.local_directory)
    if not (files.directory / "compose" / "environment").exists():
        raise StackError("没有启动过 · nothing was started with `make up`")
    system = ComposeSystem.prepared(settings, files)
    screen.step("正在停止 · stopping")
    await system.project.down(volumes=volumes)
    return 0
