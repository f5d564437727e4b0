"""The database of running processes, opened as memory opens it: with its roles, its keys and its policy."""

from pydantic import SecretStr
from tests.support.processes import Processes

from common.clock import SystemClock
from memory.app import build_database
from memory.database.transactions import Database
from memory.policy import Policy
from memory.settings import MemorySettings


def memory_database(processes: Processes) -> Database:
    """The caller closes it."""
    connections = processes.connections
    unused = SecretStr("-")
    settings = MemorySettings(
        memory_database_url=SecretStr(connections.database.app),
        memory_dispatch_database_url=SecretStr(connections.database.dispatch),
        redis_url=unused,
        memory_master_key_file=connections.memory_master_key,
        service_token_gateway=unused,
        service_token_agent=unused,
        service_token_curator=unused,
        service_token_operator=unused,
    )
    return build_database(settings, Policy(), SystemClock())
