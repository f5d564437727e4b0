"""How a user wants to shop: platforms, currency, language, time zone."""

from typing import Annotated

from fastapi import APIRouter, Body

from common.memory_api.base import OwnedRequest
from common.memory_api.operations import GET_SETTINGS, PUT_SETTINGS
from common.memory_api.user_data import PutSettings, UserSettings
from gateway.authentication.caller import CurrentOwner
from gateway.dependencies import Memory
from gateway.openapi import WITH_BODY, problems

router = APIRouter(prefix="/api/settings", tags=["settings"])

_EXAMPLE = {"platforms": ["taobao"], "currency": "CNY", "locale": "zh-CN", "time_zone": "Asia/Shanghai"}


@router.get("", summary="Your settings")
async def get_settings(owner: CurrentOwner, memory: Memory) -> UserSettings:
    return await memory.ask(GET_SETTINGS, OwnedRequest(owner=owner))


@router.put("", summary="Replace your settings", responses=problems(*WITH_BODY))
async def put_settings(
    settings: Annotated[UserSettings, Body(examples=[_EXAMPLE])], owner: CurrentOwner, memory: Memory
) -> UserSettings:
    return await memory.ask(PUT_SETTINGS, PutSettings(owner=owner, settings=settings))
