"""`item_detail`: everything about one product."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agent.catalogue.catalogue import Catalogue
from agent.catalogue.errors import CatalogueError
from agent.picking.constraint_safety import marks_of
from agent.tools.item_results import render_detail
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.text import StorableText

_log = get_logger(__name__)

NAME = "item_detail"

_SCHEMA = function_schema(
    NAME,
    "一件商品的全部信息（描述、规格等），追问某一件时用。",
    {"item_id": {"type": "string"}},
    ["item_id"],
)


class _Arguments(BaseModel):
    item_id: StorableText


class ItemDetail:
    name = NAME
    effectful = False
    schema = _SCHEMA

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        item_id = _Arguments.model_validate(dict(arguments)).item_id.strip()
        try:
            product = await self._catalogue.get(item_id)
        except CatalogueError as error:
            _log.warning("item_detail.failed", error=error)
            raise ToolFailed("the catalogue is not available right now; go on with the results you have") from error
        if product is None:
            raise ToolFailed("there is no such item; take the item_id from a search result")
        marks = marks_of([product], context.constraints)
        return ToolResult(render_detail(product, marks, context.language), "1 item")
