"""Tests wait for what they expect, and say what they waited for when it does not come."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable

_POLL_SECONDS = 0.02


async def wait_for(
    condition: Callable[[], bool | Awaitable[bool]], what: str, *, timeout: float = 20.0, every: float = _POLL_SECONDS
) -> None:
    """Return once `condition` holds; fail with `what` after `timeout` seconds."""
    give_up_at = time.monotonic() + timeout
    while not await _holds(condition):
        if time.monotonic() > give_up_at:
            raise AssertionError(f"after {timeout:g} s still not: {what}")
        await asyncio.sleep(every)


async def _holds(condition: Callable[[], bool | Awaitable[bool]]) -> bool:
    held = condition()
    return await held if inspect.isawaitable(held) else held
