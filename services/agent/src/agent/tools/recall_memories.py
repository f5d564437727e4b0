"""`recall_memories`: the facts and the behaviour history that the memory block has no room for."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Field

from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.client import MemoryUnavailable
from common.memory_api.facts import Recalled
from common.text import StorableText
from model_client.exact_json import exact_json

_log = get_logger(__name__)

NAME = "recall_memories"

SWITCHED_OFF = "长期记忆功能没有开启，没有可查的记忆"

_SCHEMA = function_schema(
    NAME,
    "按主题查用户的长期记忆和购买、搜索历史。记忆块里没有、而本轮需要时用；用户问你记得什么时也用。"
    "topic 写一个词，按字面包含匹配；空字符串列出最近的。",
    {"topic": {"type": "string", "description": "一个词，例如「咖啡」「鞋码」"}},
    ["topic"],
)


class _Arguments(BaseModel):
    topic: StorableText = Field(default="", max_length=200)


class RecallMemories:
    name = NAME
    effectful = False
    schema = _SCHEMA

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        topic = _Arguments.model_validate(dict(arguments)).topic
        try:
            recalled = await context.memory.recall(topic)
        except MemoryUnavailable as error:
            _log.warning("recall_memories.failed", error=error)
            raise ToolFailed("long-term memory is not available right now; go on without it") from error
        return ToolResult(
            _render(recalled),
            note=f"{len(recalled.facts)} facts, {len(recalled.behaviour)} past actions",
            memory_fact_ids=tuple(fact.fact_id for fact in recalled.facts),
            bears_memory=True,
        )


def _render(recalled: Recalled) -> str:
    facts = [
        {"key": fact.key, "value": fact.value, "category": fact.category, "subject": fact.subject}
        for fact in recalled.facts
    ]
    switched_off = {} if recalled.memory_enabled else {"message": SWITCHED_OFF}
    return exact_json({"facts": facts, "behaviour": recalled.behaviour, **switched_off})
