"""A gift for somebody elsewhere: the destination of this turn goes before the remembered one."""

from decimal import Decimal

from devstack.demo.products import listed_products, not_shipped_to, over_budget
from devstack.demo.telling import Telling

GIFT = "送妈妈一份生日礼物，300 元以内，这次寄到日本"


async def gift(telling: Telling) -> None:
    telling.chapter("送礼，这次寄到别处 · a gift, sent elsewhere this time")
    turn = await telling.says("E", GIFT)
    listed = listed_products(turn.items)
    over = over_budget(listed, Decimal(300), "CNY")
    far = not_shipped_to(listed, "JP")
    check = telling.check
    check("看出是送礼 · it is understood as a gift", turn.plan.get("gift") is True, turn.plan)
    check("给出了清单 · there is a list", turn.completed and len(listed) >= 2, turn.items)
    check("都不超过 300 元 · nothing over 300 CNY", not over, over)
    check("都能寄到日本 · everything ships to Japan", not far, far)
    kept = [fact for fact in await telling.client.preferences() if fact["key"] == "default_ship_to"]
    unchanged = len(kept) == 1 and "德国" in kept[0]["value"]
    check("记住的收货国没有变 · the remembered destination has not changed", unchanged, kept)
