"""「塑料的也可以了」: the fact of the same key is overwritten, and the next search is free of it."""

from devstack.demo.chapters.saved_at_once import MATERIAL_KEY
from devstack.demo.telling import Telling

FINE_NOW = "塑料的也可以了"
BOTTLE = "推荐一个水杯"


async def changed_mind(telling: Telling) -> None:
    telling.chapter("改了主意 · the user changes their mind")
    check = telling.check
    before = {fact["key"]: fact["value"] for fact in await telling.client.preferences()}
    turn = await telling.says("G", FINE_NOW)
    after = {fact["key"]: fact["value"] for fact in await telling.facts()}
    keys = [fact["key"] for fact in turn.saved]
    check("存到了同一个 key · it was saved under the same key", keys == [MATERIAL_KEY], turn.saved)
    check(
        "覆盖了旧的说法 · it overwrites what was said before",
        MATERIAL_KEY in after and after[MATERIAL_KEY] != before.get(MATERIAL_KEY) and len(after) == len(before),
        (before, after),
    )
    turn = await telling.says("H", BOTTLE)
    searches = turn.arguments_of("item_search")
    excluded = [word for search in searches for word in search.get("exclude") or [] if "塑料" in word]
    check("搜索不再排除塑料 · the search excludes plastic no more", bool(searches) and not excluded, searches)
