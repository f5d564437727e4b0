"""An order is proposed by the model, confirmed by the user, and looked up."""

from devstack.demo.telling import Telling

ORDER = "下单第一个"
MY_ORDERS = "我的订单"


async def order(telling: Telling) -> None:
    telling.chapter("下单 · an order: the model proposes, only the user confirms")
    check = telling.check
    turn = await telling.says("F", ORDER)
    check("给出了订单卡片 · there is a card", len(turn.order_cards) == 1, turn.calls)
    orders = await telling.client.orders()
    states = [each["state"] for each in orders]
    check("还没有确认 · it is not confirmed", states == ["pending"], states)
    if not orders:
        return
    confirmed = await telling.client.confirm_order(orders[0]["order_id"])
    telling.screen.line(f"用户按下确认 · the user confirms order {confirmed['order_id']}", "bold")
    check("用户确认了才算 · it is confirmed once the user says so", confirmed["state"] == "confirmed", confirmed)
    turn = await telling.says("F", MY_ORDERS)
    check("查得到 · it can be looked up", bool(turn.arguments_of("order_lookup")), turn.calls)
    check("没有另开一单 · no other one was made", not turn.order_cards, turn.order_cards)
    states = [each["state"] for each in await telling.client.orders()]
    check("只有这一单，已确认 · one order, confirmed", states == ["confirmed"], states)
