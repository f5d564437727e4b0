"""What something costs at the door in Germany: the lines of the sum, judged by the table they come from."""

from datetime import UTC, datetime

from agent.landed_price.quote import quote
from agent.landed_price.rules import load_rules
from devstack.demo.chapters.first_meeting import BACKPACK
from devstack.demo.products import listed_products
from devstack.demo.telling import Telling

HOW_MUCH = "第一个寄到德国，关税和到手价是多少"


async def landed_price(telling: Telling) -> None:
    telling.chapter("到手价 · what it costs at the door")
    found = await telling.says("F", BACKPACK)
    turn = await telling.says("F", HOW_MUCH)
    [first, *_] = listed_products(found.items)
    asked = turn.arguments_of("landed_price")
    check = telling.check
    check(
        "算的是第一件，寄德国 · it is worked out for the first one, to Germany",
        [(each.get("item_id"), each.get("destination")) for each in asked] == [(first.item_id, "DE")],
        asked,
    )
    price = quote(load_rules(), first, "DE", 1, "CNY", datetime.now(UTC).date())
    lines = {line.kind.value: str(line.amount) for line in price.lines if line.amount}
    unsaid = {kind: amount for kind, amount in lines.items() if amount not in turn.reply}
    check("每一行都说了 · every line of the sum is told", len(lines) >= 3 and not unsaid, unsaid)
    adds_up = sum(line.amount for line in price.lines if line.amount) == price.total
    check("各行相加就是总价 · the lines add up to the total", adds_up and str(price.total) in turn.reply, price)
    dated = all(line.rule for line in price.lines)
    check("每一行都有依据 · every line has its rule", dated, price.lines)
