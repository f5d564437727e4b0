"""`python -m devstack demo`: a running system, the story, and an exit code that says whether it was true."""

import time

from redis.asyncio import Redis

from devstack.demo.story import tell
from devstack.demo.targets import TARGETS
from devstack.demo.telling import Telling
from devstack.gateway_client import GatewayClient
from devstack.settings import DevstackSettings
from devstack.terminal.screen import Screen


async def tell_demo(settings: DevstackSettings, screen: Screen, target_name: str) -> int:
    """Returns 0 when everything that was claimed was true, else 1."""
    started_at = time.monotonic()
    screen.title("ShoppingX · 跨境购物助手 · a shopping assistant that remembers what it should")
    async with TARGETS[target_name](settings, screen) as target:
        client = GatewayClient(target.gateway_url, target.token)
        redis = Redis.from_url(target.redis_url)
        try:
            true = await tell(Telling(client, redis, target.user_id, target.check_invariants, screen))
        finally:
            await client.close()
            await redis.aclose()
    screen.step(f"{time.monotonic() - started_at:.0f} s")
    return 0 if true else 1
