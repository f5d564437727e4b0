"""User data beside the facts: settings, behaviour history, favourites."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from common.memory_api.base import Message, OwnedRequest
from common.text import StorableText


class BehaviourKind(StrEnum):
    PURCHASE = "purchase"
    SEARCH = "search"


class UserSettings(Message):
    platforms: list[Annotated[StorableText, StringConstraints(min_length=1, max_length=64)]] = Field(
        default_factory=list, max_length=20, description="Enabled shopping platforms; empty means all"
    )
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "CNY"
    locale: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] = "zh-CN"
    time_zone: Annotated[str, StringConstraints(max_length=64)] = "Asia/Shanghai"


class PutSettings(OwnedRequest):
    settings: UserSettings


class ItemId(OwnedRequest):
    item_id: Annotated[StorableText, StringConstraints(min_length=1, max_length=128)]


class Favourites(Message):
    item_ids: list[str]
