"""The system of docker-compose.yml, started once for the tests of this folder. Needs a Docker engine.

`make test-compose` runs them; `make test` does not look in here.
"""

from collections.abc import AsyncIterator

import pytest
from tests.containers.system import SystemInContainers, running_containers


@pytest.fixture(scope="session")
async def system() -> AsyncIterator[SystemInContainers]:
    async with running_containers() as running:
        yield running
