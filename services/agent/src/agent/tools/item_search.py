"""`item_search`: products from the catalogue. Its results are also where the answer's product cards come from."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from agent.catalogue.catalogue import Catalogue
from agent.catalogue.domains import DOMAINS
from agent.catalogue.errors import CatalogueError
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery, SearchResult
from agent.catalogue.terms import Language
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.turns import ItemCard
from model_client.exact_json import exact_json

_log = get_logger(__name__)

NAME = "item_search"

_LIMIT_MAX = 20
_WORD_LISTS = ("exclude", "platforms", "brands")
_words = {"type": "array", "items": {"type": "string"}}

_SCHEMA = function_schema(
    NAME,
    "在商品目录里搜索。query 写商品本身；预算、收货国、排除项、品牌各有参数。"
    "exclude 里的词命中标题、描述、材质或过敏原的商品不会出现，命中数量在 excluded 里。"
    "返回的价格、材质、过敏原、发货地和可寄达国家以结果为准。",
    {
        "query": {"type": "string", "description": "要找的商品，几个关键词，例如「通勤 双肩包」"},
        "domain": {"type": "string", "enum": sorted(DOMAINS), "description": "品类；拿不准就不填"},
        "exclude": {**_words, "description": "不要的东西，一项一个词，中英文都写；[constraint] 记忆写在这里"},
        "price_min": {"type": "number", "minimum": 0},
        "price_max": {"type": "number", "exclusiveMinimum": 0},
        "currency": {"type": "string", "description": "预算的币种，ISO 4217，默认 CNY"},
        "ships_to": {"type": "string", "description": "收货国，ISO 3166-1 两位代码，例如 DE"},
        "platforms": {**_words, "description": "只看这些平台；不填就是用户启用的全部平台"},
        "brands": {**_words, "description": "只看这些品牌"},
        "limit": {"type": "integer", "minimum": 1, "maximum": _LIMIT_MAX, "description": "最多几件，默认 8"},
    },
    ["query"],
)


class ItemSearch:
    name = NAME
    effectful = False
    schema = _SCHEMA

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        query = read_query(arguments, context.settings.platforms)
        try:
            result = await self._catalogue.search(query)
        except CatalogueError as error:
            _log.warning("item_search.failed", error=error)
            raise ToolFailed("the catalogue is not available right now; tell the user, or try once more") from error
        note = f"{len(result.items)} items, {len(result.excluded)} excluded"
        return ToolResult(render_items(result, context.language), note)


def read_query(arguments: Mapping[str, Any], enabled_platforms: Sequence[str]) -> CatalogueQuery:
    """The query behind a call's arguments. Raises pydantic.ValidationError.

    Fields we do not know are left out, and a single word stands for a list of one. The user's platforms are a
    limit the model cannot widen.
    """
    known = {name: value for name, value in arguments.items() if name in CatalogueQuery.model_fields}
    given = {name: value for name, value in known.items() if value not in (None, "", [])}
    for name in _WORD_LISTS:
        if isinstance(given.get(name), str):
            given[name] = [given[name]]
    if enabled_platforms:
        asked = given.get("platforms", enabled_platforms)
        both = [platform for platform in asked if platform in enabled_platforms]
        given["platforms"] = both or list(enabled_platforms)
    if isinstance(given.get("limit"), int):
        given["limit"] = min(given["limit"], _LIMIT_MAX)
    return CatalogueQuery.model_validate(given)


def render_items(result: SearchResult, language: Language) -> str:
    items = [_shown(product, language) for product in result.items]
    return exact_json({"items": items, "excluded": len(result.excluded)})


def _shown(product: Product, language: Language) -> dict[str, Any]:
    return {
        "item_id": product.item_id,
        "title": product.title(language),
        "brand": product.brand,
        "price": str(product.price),
        "currency": product.currency,
        "platform": product.platform,
        "materials": product.material_names(language),
        "allergens": product.allergen_names(language),
        "ships_from": product.ships_from,
        "ships_to": list(product.ships_to),
    }


_cards: TypeAdapter[list[ItemCard]] = TypeAdapter(list[ItemCard])


def read_items(content: str) -> list[ItemCard]:
    """The products that a stored result showed, as cards; nothing for a result that is an error."""
    start, end = content.find("{"), content.rfind("}")
    try:
        shown = json.loads(content[start : end + 1])
        fields = ItemCard.model_fields
        return _cards.validate_python([{k: v for k, v in item.items() if k in fields} for item in shown["items"]])
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
        return []
