"""The end of tasks that are to run until they are stopped."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

_END_SECONDS = 1.0
_CANCEL_AGAIN_SECONDS = 0.05


async def end_tasks(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel until they have ended, or for a second.

    Once is not enough: `asyncio.wait_for` of Python 3.11, under redis-py's sending, swallows a cancellation that meets
    the end of what it waits for, and a reader would go on behind the back of whoever stopped it.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(_END_SECONDS):
            while running := [task for task in tasks if not task.done()]:
                for task in running:
                    task.cancel()
                await asyncio.wait(running, timeout=_CANCEL_AGAIN_SECONDS)
