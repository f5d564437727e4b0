"""What a new user says once is remembered, and holds in another session."""

from decimal import Decimal

from devstack.demo.products import about_nuts, excludes_nuts, listed_products, not_shipped_to, over_budget, with_nuts
from devstack.demo.telling import Telling

BACKPACK = "我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内"
SNACKS = "推荐几样办公室零食"

SHIP_TO_KEY = "default_ship_to"


async def first_meeting(telling: Telling) -> None:
    telling.chapter("第一次见面 · a first session")
    turn = await telling.says("A", BACKPACK)
    listed = listed_products(turn.items)
    over = over_budget(listed, Decimal(500), "CNY")
    far = not_shipped_to(listed, "DE")
    check = telling.check
    check("给出了清单 · there is a list", turn.completed and len(listed) >= 2, turn.items)
    check("都不超过 500 元 · nothing over 500 CNY", not over, over)
    check("都能寄到德国 · everything ships to Germany", not far, far)

    facts = await telling.facts()
    keys = {fact["key"] for fact in facts}
    check("坚果过敏已作为 constraint 记下 · the nut allergy is kept as a constraint", bool(about_nuts(facts)), facts)
    check("收货国已记下 · so is the destination", SHIP_TO_KEY in keys, sorted(keys))
    told = {outcome.get("key") for outcome in turn.curated}
    check("记住的都告诉了用户 · the user was told of all of it", keys <= told, turn.curated)
    passing = [fact for fact in facts if "500" in fact["value"]]
    check("一次性的预算没有被记住 · this turn's budget is not remembered", not passing, passing)


async def another_session(telling: Telling) -> None:
    telling.chapter("换一个会话 · a new session: nothing is repeated, the rule still holds")
    turn = await telling.says("B", SNACKS)
    listed = listed_products(turn.items)
    nuts = with_nuts(listed)
    layers = await telling.prompt_layers("B")
    searches = turn.arguments_of("item_search")
    check = telling.check
    check("记忆块进入了提示词 (L5) · the memory block is in the prompt", "L5" in layers, sorted(layers))
    check("搜索参数里排除了坚果 · the search excludes nuts", excludes_nuts(searches), searches)
    check("给出了清单 · there is a list", turn.completed and len(listed) >= 2, turn.items)
    check("清单里没有坚果 · no nut product is listed", not nuts, nuts)
