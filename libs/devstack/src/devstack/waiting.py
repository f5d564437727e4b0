"""Waiting for a condition that others bring about."""

import asyncio
import time
from collections.abc import Awaitable, Callable

_POLL_SECONDS = 0.1


async def eventually(condition: Callable[[], Awaitable[bool]], timeout: float) -> bool:
    """Whether `condition` came true within `timeout` seconds."""
    give_up_at = time.monotonic() + timeout
    while not await condition():
        if time.monotonic() > give_up_at:
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True
