"""`item_search`: products from the catalogue, picked by what this session said (autopick).

Its results are also where the answer's product cards come from.
"""

from collections.abc import Mapping
from typing import Any

from agent.catalogue.catalogue import Catalogue
from agent.catalogue.domains import DOMAINS
from agent.catalogue.errors import CatalogueError
from agent.catalogue.queries import CatalogueQuery, Exclusion
from agent.picking.constraint_safety import marks_of
from agent.picking.picking import pick
from agent.session_constraints.bundle import assemble
from agent.session_constraints.destination import DestinationCountry, destination_of_call
from agent.tools.item_results import Excluded, render_items
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.user_data import UserSettings

_log = get_logger(__name__)

NAME = "item_search"

_LIMIT_MAX = 20
_WORD_LISTS = ("exclude", "platforms", "brands")
_LIMITS = {"domain", "price_min", "price_max", "ships_to", "platforms", "brands"}
_words = {"type": "array", "items": {"type": "string"}}

_SCHEMA = function_schema(
    NAME,
    "在商品目录里搜索。query 写商品本身；预算、收货国、排除项、品牌各有参数。"
    "exclude 里的词命中标题、描述、材质或过敏原的商品不会出现，excluded 逐件写明命中的词。"
    "返回的价格、材质、过敏原、发货地和可寄达国家以结果为准。",
    {
        "query": {"type": "string", "description": "要找的商品，几个关键词，例如「通勤 双肩包」"},
        "domain": {"type": "string", "enum": sorted(DOMAINS), "description": "品类；拿不准就不填"},
        "exclude": {**_words, "description": "不要的东西，一项一个词，中英文都写；[constraint] 记忆写在这里"},
        "price_min": {"type": "number", "minimum": 0},
        "price_max": {"type": "number", "exclusiveMinimum": 0},
        "currency": {"type": "string", "description": "预算的币种，ISO 4217，默认用户设置的"},
        "ships_to": {
            "type": "string",
            "description": "收货国，ISO 3166-1 两位代码，例如 DE；不填用系统已知的",
        },
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
        asked = read_query(arguments, context.settings)
        destination = destination_of_call(asked.ships_to, context.destination)
        query = with_session(asked, context, destination)
        try:
            result = await self._catalogue.search(query)
        except CatalogueError as error:
            _log.warning("item_search.failed", error=error)
            raise ToolFailed("the catalogue is not available right now; tell the user, or try once more") from error
        picking = pick(result.items, assemble(context.session_constraints, sorted(context.favourites)))
        excluded = [_explained(one, asked, context) for one in result.excluded]
        excluded += [Excluded(one.item_id, one.word, "session") for one in picking.dropped]
        content = render_items(
            picking.items,
            excluded,
            marks_of(result.items, context.constraints),
            context.language,
            destination=_shown(destination),
            nothing_within=None if picking.items else _limits(query),
        )
        return ToolResult(content, f"{len(picking.items)} items, {len(excluded)} excluded")


def with_session(asked: CatalogueQuery, context: ToolContext, destination: DestinationCountry) -> CatalogueQuery:
    """The query with what the session rules out (so that the next best take the places), and with the destination."""
    session = context.session_constraints.exclude
    return asked.model_copy(
        update={
            "exclude": tuple(dict.fromkeys((*asked.exclude, *session))),
            "ships_to": destination.code,
        }
    )


def _explained(exclusion: Exclusion, asked: CatalogueQuery, context: ToolContext) -> Excluded:
    word = exclusion.reason
    if word in asked.exclude:
        return Excluded(exclusion.item_id, word, "exclude")
    return Excluded(exclusion.item_id, word, "session" if word in context.session_constraints.exclude else "query")


def _limits(query: CatalogueQuery) -> dict[str, Any] | None:
    """What an empty result was limited to, by the call, the session or the user's settings: one of it may be to
    blame, and the model has not written all of it."""
    limits = query.model_dump(mode="json", include=_LIMITS, exclude_defaults=True, exclude_none=True)
    if "price_min" in limits or "price_max" in limits:
        limits["currency"] = query.currency
    return limits or None


def _shown(destination: DestinationCountry) -> dict[str, str] | None:
    """The country that was filtered by, and who named it."""
    return None if destination.code is None else {"country": destination.code, "by": destination.layer.value}


def _folded(platforms: object) -> list[Any]:
    """Platforms have names in lower case. What is no text is left for the query to refuse."""
    listed = platforms if isinstance(platforms, list) else [platforms]
    return [each.strip().casefold() if isinstance(each, str) else each for each in listed]


def _is_blank(value: object) -> bool:
    return value is None or value == [] or (isinstance(value, str) and not value.strip())


def read_query(arguments: Mapping[str, Any], settings: UserSettings) -> CatalogueQuery:
    """The query behind a call's arguments. Raises pydantic.ValidationError.

    Fields we do not know and blanks are left out, and a single word stands for a list of one. The user's platforms
    are a limit the model cannot widen, and their currency that of a bound without one.
    """
    known = {name: value for name, value in arguments.items() if name in CatalogueQuery.model_fields}
    given = {name: value for name, value in known.items() if not _is_blank(value)}
    for name in _WORD_LISTS:
        if isinstance(given.get(name), str):
            given[name] = [given[name]]
    own, asked = _folded(settings.platforms), _folded(given.get("platforms", []))
    if own or asked:
        given["platforms"] = [platform for platform in asked if platform in own] or own or asked
    if "price_min" in given or "price_max" in given:
        given.setdefault("currency", settings.currency)
    if isinstance(given.get("limit"), int):
        given["limit"] = min(given["limit"], _LIMIT_MAX)
    return CatalogueQuery.model_validate(given)
