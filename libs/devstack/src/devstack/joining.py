"""For commands that talk to a stack: the one that runs, or one that is started for them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from devstack.gateway_client import GatewayClient
from devstack.local_files import LocalFiles
from devstack.settings import DevstackSettings
from devstack.stack import Stack
from devstack.terminal.screen import Screen


@asynccontextmanager
async def joined_gateway(
    settings: DevstackSettings, screen: Screen, tenant: str, user: str
) -> AsyncIterator[GatewayClient]:
    """A client of the gateway that speaks for the user."""
    async with _gateway_url(settings, screen) as url:
        keys = LocalFiles.under(settings.local_directory).signing_keys()
        client = GatewayClient(url, keys.token(tenant, user, datetime.now(UTC)))
        try:
            yield client
        finally:
            await client.close()


@asynccontextmanager
async def _gateway_url(settings: DevstackSettings, screen: Screen) -> AsyncIterator[str]:
    files = LocalFiles.under(settings.local_directory)
    running = files.running()
    if running is not None:
        screen.step(f"接入 · joining {running.gateway_url}")
        yield running.gateway_url
        return
    async with Stack(settings, files, screen.step) as stack:
        yield stack.gateway_url
