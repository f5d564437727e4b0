"""Products in tool results: how the model sees them, and how they are read back out of a stored result as cards."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from agent.catalogue.products import Product
from agent.catalogue.terms import Language
from agent.context.messages import tool_calls_of, tool_results
from agent.picking.picking import Picked
from common.memory_api.sessions import LogEntry
from common.memory_api.turns import ItemCard
from model_client.exact_json import exact_json

ITEM_TOOLS = frozenset({"item_search", "item_picker", "item_detail"})
"""Tools whose results show products."""

_EXCLUDED_MOST = 12
"""Exclusions told one by one; of more, the rest is a number."""


class Excluded(NamedTuple):
    """`by` says whose `word` it was: `exclude` (the call's arguments), `query` (the query's own words) or `session`."""

    item_id: str
    word: str
    by: str


Marks = Mapping[str, Sequence[str]]
"""By item id: what in it contradicts a remembered constraint, as "key: word"."""


def render_items(
    picked: Iterable[Picked], excluded: Sequence[Excluded], marks: Marks, language: Language, **more: Any
) -> str:
    """A result as the model reads it. `more` are fields of one tool; None is left out."""
    result: dict[str, Any] = {
        "items": [_picked(one, marks, language) for one in picked],
        "excluded": [one._asdict() for one in excluded[:_EXCLUDED_MOST]],
        "excluded_more": max(0, len(excluded) - _EXCLUDED_MOST) or None,
        **more,
    }
    return exact_json({name: value for name, value in result.items() if value is not None})


def render_detail(product: Product, marks: Marks, language: Language) -> str:
    chinese = language == "zh"
    item = {
        **_product(product, language),
        "domain": product.domain,
        "description": product.description_zh if chinese else product.description_en,
        "attributes": product.attributes,
        **_marks(product, marks),
    }
    return exact_json({"item": item})


def _picked(picked: Picked, marks: Marks, language: Language) -> dict[str, Any]:
    shown = _product(picked.product, language)
    reasons = {"gained_by": list(picked.gained_by), "lost_by": list(picked.lost_by), "favourite": picked.favourite}
    return {**shown, **{name: value for name, value in reasons.items() if value}, **_marks(picked.product, marks)}


def _product(product: Product, language: Language) -> dict[str, Any]:
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


def _marks(product: Product, marks: Marks) -> dict[str, Any]:
    return {"marks": list(marks[product.item_id])} if marks.get(product.item_id) else {}


_cards: TypeAdapter[list[ItemCard]] = TypeAdapter(list[ItemCard])


def read_items(content: str) -> list[ItemCard]:
    """The products that a stored result showed, as cards; nothing for a result that is an error."""
    start, end = content.find("{"), content.rfind("}")
    try:
        result = json.loads(content[start : end + 1])
        shown = [result["item"]] if "item" in result else result["items"]
        fields = ItemCard.model_fields
        return _cards.validate_python([{k: v for k, v in item.items() if k in fields} for item in shown])
    except (ValueError, KeyError, TypeError, AttributeError, ValidationError):
        return []


def items_shown_in(entries: Sequence[LogEntry]) -> list[ItemCard]:
    """Every product that the tools of these entries returned, in their order; one may come more than once."""
    calls = {call.call_id for entry in entries for call in tool_calls_of(entry.message) if call.name in ITEM_TOOLS}
    return [
        card for _, result in tool_results(entries) if result.call_id in calls for card in read_items(result.content)
    ]
