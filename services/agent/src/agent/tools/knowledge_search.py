"""`knowledge_search`: general knowledge about buying abroad, from the guides. Nothing about the user is in it."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, StringConstraints

from agent.knowledge.searching import GuideIndex
from agent.tools.tool import ToolContext, ToolResult, function_schema
from common.text import StorableText
from model_client.exact_json import exact_json

NAME = "knowledge_search"

_SCHEMA = function_schema(
    NAME,
    "查跨境购物的通用指南：关税规则、尺码换算、材质与过敏原、退换与保修、寄送限制、电压插头。"
    "不含具体商品，也与这位用户无关。",
    {"query": {"type": "string", "description": "要查的问题，一句话"}},
    ["query"],
)


class _Arguments(BaseModel):
    query: Annotated[StorableText, StringConstraints(min_length=1, max_length=500, pattern=r"\S")]


class KnowledgeSearch:
    name = NAME
    effectful = False
    schema = _SCHEMA

    def __init__(self, index: GuideIndex) -> None:
        self._index = index

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        found = self._index.find(_Arguments.model_validate(dict(arguments)).query)
        sections = [{"guide": one.guide, "heading": one.heading, "text": one.text} for one in found]
        return ToolResult(exact_json({"sections": sections}), f"{len(found)} sections")
