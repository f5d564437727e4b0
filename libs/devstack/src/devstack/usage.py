"""`python -m devstack usage`: what a session's model calls cost and what came from the provider's prefix cache."""

from devstack.errors import StackError
from devstack.joining import joined_gateway
from devstack.settings import DevstackSettings
from devstack.terminal.screen import Screen
from devstack.terminal.usage_tables import show_usage


async def print_usage(settings: DevstackSettings, screen: Screen, tenant: str, user: str, session_id: str) -> int:
    """Of the user's newest session where `session_id` is empty. Raises StackError where there is none."""
    async with joined_gateway(settings, screen, tenant, user) as client:
        session = session_id or await client.newest_session()
        if session is None:
            raise StackError(f"{user} 还没有会话 · {user} has no session yet")
        usage = await client.usage(session)
    screen.title(f"会话 · session {session}")
    show_usage(screen, session, usage)
    return 0
