"""What curation is measured on: a real memory service on embedded servers with fresh data, and the offline model."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import uvicorn
from tests.support.databases import database_from, template_database
from tests.support.memory_service import MemoryService, memory_settings, serving_memory
from tests.support.servers import postgres_server, run_directory, valkey_server
from tests.support.serving import LOOPBACK, WithoutSignals, serving

from common.logs import configure_logs
from gateway.server import listening_socket
from offline_model.app import build_app
from offline_model.settings import OfflineModelSettings

Item = TypeVar("Item")
Made = TypeVar("Made")

_AT_ONCE = 4


@dataclass(frozen=True)
class MemoryUnderTest:
    memory: MemoryService
    model_url: str


@asynccontextmanager
async def memory_under_test() -> AsyncIterator[MemoryUnderTest]:
    configure_logs("bench", "error", "console")
    with run_directory() as directory:
        async with (
            postgres_server(directory) as postgres,
            valkey_server(directory) as valkey,
            template_database(postgres) as template,
            database_from(postgres, template) as database,
            serving_memory(memory_settings(database, valkey, directory)) as memory,
            offline_model() as model_url,
        ):
            yield MemoryUnderTest(memory, model_url)


@asynccontextmanager
async def offline_model() -> AsyncIterator[str]:
    """The base URL of an offline model in this process."""
    config = uvicorn.Config(build_app(OfflineModelSettings()), log_config=None, access_log=False)
    async with serving(WithoutSignals(config), listening_socket(LOOPBACK, 0)) as url:
        yield f"{url}/v1"


async def side_by_side(each: Callable[[Item], Awaitable[Made]], items: Iterable[Item]) -> list[Made]:
    """What `each` makes of the items, in their order; a few at a time, since much of it is waiting for others."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(item: Item) -> Made:
        async with free:
            return await each(item)

    return list(await asyncio.gather(*(one(item) for item in items)))
