"""`landed_price`: what a product costs at the buyer's door, line by line."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from agent.catalogue.catalogue import Catalogue
from agent.catalogue.countries import AskedCountry
from agent.catalogue.currencies import AskedCurrency
from agent.catalogue.errors import CatalogueError
from agent.catalogue.exchange_rates import RATES_AS_OF
from agent.catalogue.products import Product
from agent.landed_price.quote import LandedPrice, Line, NoQuote, quote
from agent.landed_price.rules import ImportRules
from agent.session_constraints.destination import NO_DESTINATION, DestinationLayer, destination_of_call
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.clock import Clock
from common.logs import get_logger
from model_client.exact_json import exact_json

_log = get_logger(__name__)

NAME = "landed_price"

_QUANTITY_MAX = 99

_SCHEMA = function_schema(
    NAME,
    "算商品寄到收货国的到手价：货价、运费、关税、增值税、手续费，逐行有金额、依据和生效日期。"
    "estimated 的行是估算；amount 为 null 的行算不出；complete 为 false 时不要把 total 说成最终价格。",
    {
        "item_id": {"type": "string"},
        "destination": {"type": "string", "description": "收货国两位代码，例如 DE；不填用系统已知的"},
        "quantity": {"type": "integer", "minimum": 1, "maximum": _QUANTITY_MAX},
        "currency": {"type": "string", "description": "显示的货币，默认用户设置的"},
    },
    ["item_id"],
)


class LandedPriceArguments(BaseModel):
    model_config = ConfigDict(extra="ignore")

    item_id: str
    destination: AskedCountry = None
    quantity: int = Field(default=1, ge=1, le=_QUANTITY_MAX)
    currency: AskedCurrency = None


class LandedPriceTool:
    """The day of a quote is the day of the call; its result stays in the log as it was given."""

    name = NAME
    effectful = False
    schema = _SCHEMA

    def __init__(self, catalogue: Catalogue, rules: ImportRules, clock: Clock) -> None:
        self._catalogue = catalogue
        self._rules = rules
        self._clock = clock

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        wanted = LandedPriceArguments.model_validate(arguments)
        destination = destination_of_call(wanted.destination, context.destination)
        if destination.code is None:
            raise ToolFailed(NO_DESTINATION)
        product = await self._product(wanted.item_id)
        currency = wanted.currency or context.settings.currency
        day = self._clock.now().date()
        try:
            price = quote(self._rules, product, destination.code, wanted.quantity, currency, day)
        except NoQuote as reason:
            raise ToolFailed(str(reason)) from reason
        note = f"{price.total} {price.currency} to {price.destination}" + ("" if price.complete else ", incomplete")
        return ToolResult(render_landed_price(price, destination.layer), note)

    async def _product(self, item_id: str) -> Product:
        """Raises ToolFailed."""
        try:
            product = await self._catalogue.get(item_id)
        except CatalogueError as error:
            _log.warning("landed_price.failed", error=error)
            raise ToolFailed("the catalogue is not available right now; tell the user, or try once more") from error
        if product is None:
            raise ToolFailed(f"there is no item {item_id[:32]}; take an item_id from a search result")
        return product


def render_landed_price(price: LandedPrice, named_by: DestinationLayer) -> str:
    """The result as the model reads it; amounts are decimal texts. `named_by` is where the destination comes from."""
    return exact_json(
        {
            "item_id": price.item_id,
            "destination": price.destination,
            "destination_by": named_by.value,
            "quantity": price.quantity,
            "currency": price.currency,
            "day": price.day.isoformat(),
            "exchange_rates_of": RATES_AS_OF,
            "lines": [_shown(line) for line in price.lines],
            "total": str(price.total),
            "complete": price.complete,
        }
    )


def _shown(line: Line) -> dict[str, Any]:
    return {
        "kind": line.kind.value,
        "amount": None if line.amount is None else str(line.amount),
        "rule": line.rule,
        "since": None if line.since is None else line.since.isoformat(),
        "estimated": line.estimated,
        **({} if line.before is None else {"before": line.before}),
    }
