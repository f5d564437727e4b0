"""The user's favourite items."""

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by, insert

from common.memory_api.base import OwnedRequest
from common.memory_api.user_data import Favourites, ItemId
from memory.database.schema import favourites
from memory.database.transactions import UserTransaction
from memory.users import lock_user, own

_in_order = aggregate_order_by(favourites.c.item_id, favourites.c.created_at.desc(), favourites.c.item_id)

FAVOURITES_IN_ORDER = select(func.array_agg(_in_order)).where(own(favourites)).scalar_subquery()
"""Item ids, newest first; ties by id, so that the same data gives the same bytes. NULL where there are none."""


async def favourite_items(tx: UserTransaction) -> list[str]:
    return await tx.connection.scalar(select(FAVOURITES_IN_ORDER)) or []


async def list_favourites(tx: UserTransaction, _: OwnedRequest) -> Favourites:
    return Favourites(item_ids=await favourite_items(tx))


async def add_favourite(tx: UserTransaction, request: ItemId) -> Favourites:
    await lock_user(tx)  # one that comes while the user is erased is theirs from after it, or not there
    await tx.connection.execute(
        insert(favourites).values(**tx.key, item_id=request.item_id, created_at=tx.now).on_conflict_do_nothing()
    )
    return Favourites(item_ids=await favourite_items(tx))


async def remove_favourite(tx: UserTransaction, request: ItemId) -> Favourites:
    await tx.connection.execute(delete(favourites).where(own(favourites), favourites.c.item_id == request.item_id))
    return Favourites(item_ids=await favourite_items(tx))
