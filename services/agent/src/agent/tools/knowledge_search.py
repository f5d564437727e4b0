"""`knowledge_search`: general knowledge about buying abroad, from the guides. Nothing about the user is in it."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, StringConstraints

from agent.knowledge.searching import GuideIndex
from agent.tools.tool import ToolContext, ToolResult, function_schema
from model_client.exact_json import exact_json

NAME = "knowledge_search"

_SCHEMA = function_schema(
    NAME,
    "查跨境购物的通用知识：关税与税费规则、尺码换算、材质与过敏原、退换货与保修、寄送限制和电压。"
    "与这位用户无关；具体一件商品的到手价用 landed_price，商品本身用 item_search。",
    {"question": {"type": "string", "description": "要查的问题，一句话，中文英文都可以"}},
    ["question"],
)


class KnowledgeQuestion(BaseModel):
    model_config = ConfigDict(extra="ignore")

    question: Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]


class KnowledgeSearch:
    name = NAME
    effectful = False
    schema = _SCHEMA

    def __init__(self, index: GuideIndex) -> None:
        self._index = index

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        asked = KnowledgeQuestion.model_validate(arguments)
        found = self._index.find(asked.question)
        sections = [{"guide": one.guide, "heading": one.heading, "text": one.text} for one in found]
        return ToolResult(exact_json({"sections": sections}), f"{len(found)} sections")
