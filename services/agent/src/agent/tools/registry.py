"""Which tools there are."""

from collections.abc import Iterator, Sequence
from typing import Any

from agent.catalogue.catalogue import Catalogue
from agent.knowledge.guides import load_sections
from agent.knowledge.searching import GuideIndex
from agent.landed_price.rules import load_rules
from agent.skills.catalogue import Skills
from agent.tools import knowledge_search, order_lookup, recall_memories, save_memory
from agent.tools.item_detail import ItemDetail
from agent.tools.item_picker import ItemPicker
from agent.tools.item_results import ITEM_TOOLS
from agent.tools.item_search import ItemSearch
from agent.tools.knowledge_search import KnowledgeSearch
from agent.tools.landed_price import LandedPriceTool
from agent.tools.order_lookup import OrderLookup
from agent.tools.order_propose import OrderPropose
from agent.tools.recall_memories import RecallMemories
from agent.tools.save_memory import SaveMemory
from agent.tools.shopping_summary import ShoppingSummaryTool
from agent.tools.skill import SkillTool
from agent.tools.tool import Tool
from common.clock import Clock

EXTERNAL_SOURCE_TOOLS = ITEM_TOOLS | {knowledge_search.NAME, order_lookup.NAME, recall_memories.NAME}
"""Tools whose results hold words from outside: fenced as `<external_content>`."""

MEMORY_BEARING_TOOLS = frozenset({save_memory.NAME, recall_memories.NAME})
"""Tools whose arguments or results hold memory: their log entries are overwritten when the user clears it."""


class ToolRegistry:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        return sorted(self._tools)

    def schemas(self) -> list[dict[str, Any]]:
        return [self._tools[name].schema for name in self.names]


def build_tools(catalogue: Catalogue, skills: Skills, clock: Clock) -> ToolRegistry:
    tools: list[Tool] = [
        ItemSearch(catalogue),
        ItemPicker(catalogue),
        ItemDetail(catalogue),
        KnowledgeSearch(GuideIndex(load_sections())),
        LandedPriceTool(catalogue, load_rules(), clock),
        OrderLookup(),
        OrderPropose(catalogue),
        RecallMemories(),
        SaveMemory(),
        ShoppingSummaryTool(),
    ]
    return ToolRegistry([*tools, SkillTool(skills)] if skills.names else tools)
