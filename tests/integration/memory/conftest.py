"""The memory service over HTTP, with a database of its own for each test file."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from tests.support.memory_service import MemoryService, memory_settings, serving_memory

from common.memory_api.base import Owner
from devstack.database import DatabaseUrls


@pytest.fixture(scope="module")
async def memory(
    module_database: DatabaseUrls, valkey: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[MemoryService]:
    settings = memory_settings(module_database, valkey, tmp_path_factory.mktemp("memory"))
    async with serving_memory(settings) as service:
        yield service


@pytest.fixture
def owner() -> Owner:
    """A user nobody else has."""
    return Owner(tenant_id="t1", user_id=f"u-{uuid4()}")
