"""`python -m devstack demo`: a stack on fresh data, the story, and an exit code that says whether it was true."""

import time

from redis.asyncio import Redis

from devstack.demo.story import Story
from devstack.gateway_client import GatewayClient
from devstack.local_files import LocalFiles
from devstack.settings import DevstackSettings
from devstack.stack import Stack
from devstack.terminal.screen import Screen

_TENANT = "demo"
_USER = "xiaolin"


async def tell_demo(settings: DevstackSettings, screen: Screen) -> int:
    """Returns 0 when everything that was claimed was true, else 1."""
    started_at = time.monotonic()
    files = LocalFiles.under(settings.local_directory).demo()
    with files.locked():
        files.remove()
    screen.title("ShoppingX · 跨境购物助手 · a shopping assistant that remembers what it should")
    async with Stack(settings, files, screen.step) as stack:
        client = GatewayClient(stack.gateway_url, stack.token(_TENANT, _USER))
        redis = Redis.from_url(stack.redis_url)
        try:
            story = Story(client, redis, _USER, lambda: stack.memory_command("check-invariants", "--settled"), screen)
            true = await story.tell()
        finally:
            await client.close()
            await redis.aclose()
    screen.step(f"{time.monotonic() - started_at:.0f} s")
    return 0 if true else 1
