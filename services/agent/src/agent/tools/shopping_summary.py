"""`shopping_summary`: ends the turn with a reply and the products it names."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from agent.tools.tool import ShoppingSummary, ToolContext, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.turns import ItemCard
from common.text import StorableText
from model_client.exact_json import exact_json, well_formed

_log = get_logger(__name__)

NAME = "shopping_summary"

_SCHEMA = function_schema(
    NAME,
    "给出本轮的最终答复并结束这一轮。有商品可推荐时用它收尾，同一步里不要再调用别的工具。",
    {
        "reply": {"type": "string", "description": "用户读到的完整答复，用用户的语言"},
        "items": {
            "type": "array",
            "description": "推荐的商品，按推荐顺序；只能是本轮搜索结果里的",
            "items": {
                "type": "object",
                "properties": {
                    "item_id": {"type": "string"},
                    "reason": {"type": "string", "description": "一句话，为什么推荐它"},
                },
                "required": ["item_id", "reason"],
                "additionalProperties": False,
            },
        },
    },
    ["reply", "items"],
)


def _named(value: object) -> object:
    """Models also send bare ids."""
    return {"item_id": value} if isinstance(value, str) else value


class _Item(BaseModel):
    item_id: StorableText
    reason: StorableText | None = None


class _Arguments(BaseModel):
    reply: str = Field(min_length=1, pattern=r"\S")
    items: list[Annotated[_Item, BeforeValidator(_named)]] = Field(default_factory=list, max_length=50)


class ShoppingSummaryTool:
    name = NAME
    effectful = False
    schema = _SCHEMA

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        summary = read_summary(arguments)
        return ToolResult(exact_json({"shown": True}), note=f"{len(summary.items)} items", summary=summary)


def read_summary(arguments: Mapping[str, Any]) -> ShoppingSummary:
    """The summary behind a call's arguments. Raises pydantic.ValidationError."""
    given = _Arguments.model_validate(dict(arguments))
    return ShoppingSummary(well_formed(given.reply), tuple((item.item_id, item.reason) for item in given.items))


def cards_of(summary: ShoppingSummary, offered: Iterable[ItemCard]) -> list[ItemCard]:
    """Cards of the named products that the turn's searches returned, in the summary's order, each once.

    Marks stay on their cards. A product that no search returned is not shown, whatever the model says about it.
    """
    by_id = {card.item_id: card for card in offered}
    cards: dict[str, ItemCard] = {}
    for item_id, reason in summary.items:
        if item_id in by_id:
            cards.setdefault(item_id, by_id[item_id].model_copy(update={"reason": reason}))
    dropped = len({item_id for item_id, _ in summary.items}) - len(cards)
    if dropped:
        _log.warning("summary.unknown_items", dropped=dropped)
    return list(cards.values())
