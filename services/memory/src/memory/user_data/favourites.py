"""The user's favourite items."""

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.base import OwnedRequest
from common.memory_api.user_data import Favourites, ItemId
from memory.database.schema import favourites
from memory.database.transactions import UserTransaction
from memory.users import own


async def favourite_items(tx: UserTransaction) -> list[str]:
    """Item ids, newest first; ties by id, so that the same data gives the same bytes."""
    query = select(favourites.c.item_id).where(own(favourites, tx))
    ordered = query.order_by(favourites.c.created_at.desc(), favourites.c.item_id)
    return list((await tx.connection.execute(ordered)).scalars())


async def list_favourites(tx: UserTransaction, _: OwnedRequest) -> Favourites:
    return Favourites(item_ids=await favourite_items(tx))


async def add_favourite(tx: UserTransaction, request: ItemId) -> Favourites:
    await tx.connection.execute(
        insert(favourites).values(**tx.key, item_id=request.item_id, created_at=tx.now).on_conflict_do_nothing()
    )
    return Favourites(item_ids=await favourite_items(tx))


async def remove_favourite(tx: UserTransaction, request: ItemId) -> Favourites:
    await tx.connection.execute(delete(favourites).where(own(favourites, tx), favourites.c.item_id == request.item_id))
    return Favourites(item_ids=await favourite_items(tx))
