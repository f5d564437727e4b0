"""「记住…」 is kept in its own turn, and said to be remembered only once it can be read."""

from devstack.demo.products import PLASTICS, listed_products, made_of
from devstack.demo.telling import Telling
from devstack.gateway_client import TurnEvent

PLASTIC = "请记住：我不要塑料的东西。推荐一个水杯"

MATERIAL_KEY = "material_avoid"


async def saved_at_once(telling: Telling) -> None:
    telling.chapter("当场记住 · saved, and visible in its own turn")
    seen_at_once: list[str] = []

    async def look(event: TurnEvent) -> None:
        if event.kind == "memory.saved":
            seen_at_once.extend(fact["key"] for fact in await telling.client.preferences())

    turn = await telling.says("C", PLASTIC, also=look)
    saved = [fact["key"] for fact in turn.saved]
    searches = turn.arguments_of("item_search")
    excluded = any("塑料" in word for search in searches for word in search.get("exclude") or [])
    plastic = made_of(listed_products(turn.items), PLASTICS)
    check = telling.check
    check("模型调用了 save_memory · the model saved it", MATERIAL_KEY in saved, turn.calls)
    check(
        "说「记住了」时已经能查到 · when the user is told, it can already be read",
        MATERIAL_KEY in seen_at_once,
        seen_at_once,
    )
    check("同一轮的搜索已经照办 · the search of the same turn obeys it", excluded, searches)
    check("清单里没有塑料 · nothing of plastic is listed", turn.completed and not plastic, plastic)
    await telling.facts()
