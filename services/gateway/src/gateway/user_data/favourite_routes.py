"""Favourites: items a user has marked."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import StringConstraints

from common.memory_api.base import OwnedRequest
from common.memory_api.operations import ADD_FAVOURITE, LIST_FAVOURITES, REMOVE_FAVOURITE
from common.memory_api.user_data import Favourites, ItemId
from common.problems import ProblemCode
from common.text import StorableText
from gateway.authentication.caller import CurrentOwner
from gateway.dependencies import Memory
from gateway.openapi import problems

router = APIRouter(prefix="/api/favourites", tags=["favourites"])

_BY_ID = problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST)


async def _request(
    item_id: Annotated[StorableText, StringConstraints(min_length=1, max_length=128), Path()], owner: CurrentOwner
) -> ItemId:
    return ItemId(owner=owner, item_id=item_id)


OneItem = Annotated[ItemId, Depends(_request)]


@router.get("", summary="Your favourites")
async def list_favourites(owner: CurrentOwner, memory: Memory) -> Favourites:
    return await memory.ask(LIST_FAVOURITES, OwnedRequest(owner=owner))


@router.put("/{item_id}", summary="Mark an item", responses=_BY_ID)
async def add_favourite(item: OneItem, memory: Memory) -> Favourites:
    return await memory.ask(ADD_FAVOURITE, item)


@router.delete("/{item_id}", summary="Unmark an item", responses=_BY_ID)
async def remove_favourite(item: OneItem, memory: Memory) -> Favourites:
    return await memory.ask(REMOVE_FAVOURITE, item)
