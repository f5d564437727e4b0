"""Orders: lays a card before the user, tells what orders there are; confirming and cancelling is the user's alone."""

from collections.abc import Iterator, Mapping
from typing import Any

from offline_model.language.countries import shipping_mentions
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.orders import OrderWish, order_state_in, order_wish
from offline_model.language.references import quantity_in
from offline_model.language.wishes import Wishes
from offline_model.playing.asking import WHICH_ITEM
from offline_model.playing.play import Play, call
from offline_model.playing.scene import Scene
from offline_model.playing.shown import Item, item_spoken_of, items_meant

_PROPOSE, _LOOK_UP = "order_propose", "order_lookup"
_QUANTITY_MAX = 99


def propose_order(scene: Scene, wishes: Wishes) -> Play | None:
    """「下单第一个」: of the list shown last. With nothing shown, what the words name is looked for first."""
    if order_wish(scene.words) is not OrderWish.PLACE or _PROPOSE not in scene.tools:
        return None
    made = scene.results_of(_PROPOSE)
    if made:
        return Play(_told_of_card(made[-1].result_data, is_chinese(scene.words)))
    if scene.told_to_wrap_up:
        return None
    items = items_to_order(scene)
    if items:
        destinations = shipping_mentions(scene.words)
        destination = destinations[-1].code if destinations else None
        return Play(calls=(call(_PROPOSE, lines=list(_lines(items, scene.words)), destination=destination),))
    return None if wishes.queries else Play(in_language(is_chinese(scene.words), *WHICH_ITEM))


def items_to_order(scene: Scene) -> list[Item]:
    spoken_of = item_spoken_of(scene)
    return items_meant(scene) or ([spoken_of] if spoken_of else [])


def _lines(items: list[Item], words: str) -> Iterator[dict[str, Any]]:
    quantity = min(quantity_in(words) or 1, _QUANTITY_MAX)
    for item in items:
        yield {"item_id": str(item["item_id"]), "quantity": quantity}


def _told_of_card(card: Any, chinese: bool) -> str:
    if not isinstance(card, dict) or not card.get("order_id"):
        return in_language(
            chinese,
            "这次没能备好订单卡，请重新找一次商品再说下单。",
            "I could not prepare the order card this time. Please search for the product once more.",
        )
    total = in_language(chinese, "、", ", ").join(_totals(card))
    return in_language(
        chinese,
        f"订单卡在这里，等你决定：商品合计 {total}，不含运费和税。在卡上点确认才算数，也可以取消；这一步只有你能做。",
        f"Here is the order card, waiting for you: goods {total}, without shipping and taxes. It counts only when you "
        "press confirm on the card, or cancel it; nobody but you can do that.",
    )


def look_up_orders(scene: Scene, wishes: Wishes) -> Play | None:
    if order_wish(scene.words) is not OrderWish.LOOK_UP or _LOOK_UP not in scene.tools:
        return None
    made, chinese = scene.results_of(_LOOK_UP), is_chinese(scene.words)
    if not made:
        if scene.told_to_wrap_up:
            return None
        return Play(calls=(call(_LOOK_UP, state=order_state_in(scene.words)),))
    data = made[-1].result_data
    orders = data.get("orders") if isinstance(data, dict) else None
    if not isinstance(orders, list):
        return Play(in_language(chinese, "订单现在查不到，请稍后再试。", "I cannot look up the orders at the moment."))
    if not orders:
        return Play(in_language(chinese, "没有找到订单。", "There are no such orders."))
    lines = [_told_of_order(order, chinese) for order in orders if isinstance(order, dict)]
    opening = in_language(chinese, "你的订单：", "Your orders:")
    closing = in_language(chinese, "物流进度请在下单平台查看。", "Please see the platform for where the parcels are.")
    return Play("\n".join([opening, *lines, closing]))


_STATES = {
    "pending": ("待你确认", "waiting for you"),
    "confirmed": ("已确认", "confirmed"),
    "cancelled": ("已取消", "cancelled"),
    "expired": ("已过期", "expired"),
}


def _told_of_order(order: Mapping[str, Any], chinese: bool) -> str:
    state = str(order.get("state", ""))
    between = in_language(chinese, "、", ", ")
    names = between.join(_names(order))
    parts = [names, between.join(_totals(order)), in_language(chinese, *_STATES.get(state, (state, state)))]
    return "- " + in_language(chinese, "，", ", ").join(part for part in parts if part)


def _names(order: Mapping[str, Any]) -> Iterator[str]:
    for line in order.get("lines") or ():
        if isinstance(line, dict):
            item = line.get("item")
            name = item.get("title") if isinstance(item, dict) else line.get("title")
            yield f"{name or line.get('item_id')} ×{line.get('quantity', 1)}"


def _totals(order: Mapping[str, Any]) -> Iterator[str]:
    for total in order.get("totals") or ():
        if isinstance(total, dict):
            yield f"{total.get('amount')} {total.get('currency')}"


def leave_the_card_to_the_user(scene: Scene, wishes: Wishes) -> Play | None:
    """「确认订单」: there is no tool for it, and there must be none."""
    if order_wish(scene.words) is not OrderWish.SETTLE or _PROPOSE not in scene.tools:
        return None
    return Play(
        in_language(
            is_chinese(scene.words),
            "确认和取消只能由你在订单卡上点，我做不了。卡片过期了就告诉我，我再备一张。",
            "Only you can confirm or cancel, on the order card; I cannot. If the card has expired, I prepare another.",
        )
    )
