"""Who a transaction works for.

The user is set with `set_config(…, is_local => true)`, so that it never leaks to the next borrower of a pooled
connection; where it is missing the policies show no row at all.
"""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from common.memory_api.base import Owner

_SET_USER = text("SELECT set_config('app.tenant_id', :tenant, true), set_config('app.user_id', :user, true)")


async def set_user(connection: AsyncConnection, owner: Owner) -> None:
    await connection.execute(_SET_USER, {"tenant": owner.tenant_id, "user": owner.user_id})
