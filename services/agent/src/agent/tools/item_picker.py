"""`item_picker`: the picking that follows every search, again over what this session's searches have shown."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from agent.catalogue.catalogue import Catalogue
from agent.catalogue.errors import CatalogueError
from agent.catalogue.products import Product
from agent.catalogue.queries import Words
from agent.picking.constraint_safety import marks_of
from agent.picking.picking import Picking, pick
from agent.session_constraints.bundle import assemble
from agent.tools.item_results import Excluded, items_shown_in, render_items
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.text import StorableText

_log = get_logger(__name__)

NAME = "item_picker"

_ITEMS_MAX = 50
_words = {"type": "array", "items": {"type": "string"}}

_SCHEMA = function_schema(
    NAME,
    "对本会话搜到过的商品再挑一次：去掉 exclude，must 靠前；不搜新商品。item_ids 不填就是最近搜到的。",
    {"item_ids": _words, "must": _words, "exclude": _words},
    [],
)


def _list(value: object) -> object:
    """A single word stands for a list of one, nothing for an empty one."""
    return [value] if isinstance(value, str) and value else value or []


class _Arguments(BaseModel):
    item_ids: Annotated[list[StorableText], BeforeValidator(_list), Field(max_length=_ITEMS_MAX)] = []
    must: Annotated[Words, BeforeValidator(_list)] = ()
    exclude: Annotated[Words, BeforeValidator(_list)] = ()


class ItemPicker:
    name = NAME
    effectful = False
    schema = _SCHEMA

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        given = _Arguments.model_validate(dict(arguments))
        wanted, unknown = _chosen(given.item_ids, context)
        if not wanted:
            raise ToolFailed("no search of this session has shown such items; call item_search first")
        products = await self._products(wanted)
        picking = _pick(products, given, context)
        content = render_items(
            picking.items,
            [
                Excluded(one.item_id, one.word, "exclude" if one.word in given.exclude else "session")
                for one in picking.dropped
            ],
            marks_of(products, context.constraints),
            context.language,
            unknown=unknown or None,
        )
        return ToolResult(content, f"{len(picking.items)} items, {len(picking.dropped)} excluded")

    async def _products(self, item_ids: Sequence[str]) -> list[Product]:
        try:
            found = await asyncio.gather(*(self._catalogue.get(item_id) for item_id in item_ids))
        except CatalogueError as error:
            _log.warning("item_picker.failed", error=error)
            raise ToolFailed("the catalogue is not available right now; go on with the results you have") from error
        return [product for product in found if product is not None]


def _chosen(item_ids: Sequence[str], context: ToolContext) -> tuple[list[str], list[str]]:
    """Those of the ids that the session's tools have shown, and those that they have not. Without ids, what this turn
    has shown, else what was shown before it."""
    this_turn = dict.fromkeys(card.item_id for card in items_shown_in(context.entries))
    if not item_ids and this_turn:
        return list(this_turn)[-_ITEMS_MAX:], []
    before = dict.fromkeys(card.item_id for card in items_shown_in(context.earlier))
    if not item_ids:
        return list(before)[-_ITEMS_MAX:], []
    distinct = dict.fromkeys(item_ids)
    shown = this_turn.keys() | before.keys()
    return [each for each in distinct if each in shown], [each for each in distinct if each not in shown]


def _pick(products: Sequence[Product], given: _Arguments, context: ToolContext) -> Picking:
    """The call's own words count with those of the session, before them where a word is in both."""
    bundle = assemble(context.session_constraints, sorted(context.favourites))
    excluded = tuple(dict.fromkeys((*given.exclude, *bundle.exclude)))
    return pick(products, bundle._replace(exclude=excluded, must=tuple(dict.fromkeys((*given.must, *bundle.must)))))
