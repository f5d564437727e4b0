"""A set within a budget: it is split before anything is searched, so that the parts fit into it together."""

from decimal import Decimal

from devstack.demo.products import listed_products, not_shipped_to, sum_of_prices
from devstack.demo.telling import Telling

TRAVEL_SET = "帮我配一套旅行套装，预算 1000 元"
_BUDGET = Decimal(1_000)


async def travel_set(telling: Telling) -> None:
    telling.chapter("一套东西，一个预算 · a travel set within a budget")
    turn = await telling.says("D", TRAVEL_SET)
    searches = turn.arguments_of("item_search")
    shares = [search.get("price_max") for search in searches]
    listed = listed_products(turn.items)
    far = not_shipped_to(listed, "DE")
    check = telling.check
    check(
        "先读了配套的 Skill · the skill for sets was read before anything else",
        turn.calls[:1] == [("Skill", {"name": "bundle-planning"})],
        turn.calls[:2],
    )
    check("分开搜了几样 · several things were searched", len(searches) >= 2, searches)
    check(
        "预算在搜索之前就分好了 · the budget was split before the search",
        all(shares) and sum(Decimal(str(share)) for share in shares) <= _BUDGET,
        shares,
    )
    check("配出了一套 · there is a set", turn.completed and len(listed) >= 2, turn.items)
    check("加起来不超过 1000 元 · 1,000 CNY in all at most", sum_of_prices(listed, "CNY") <= _BUDGET, turn.items)
    check("记得寄德国 · it is remembered that it goes to Germany", not far, far)
