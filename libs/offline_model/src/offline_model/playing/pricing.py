"""The price at the door: finds the product where it is not known yet, has the sum worked out, and tells its lines."""

from collections.abc import Iterator
from typing import Any

from offline_model.language.intents import Intent, asks_how_things_are, intent_of
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.missing import Missing, destination_of, product_to_price
from offline_model.language.money import currency_in
from offline_model.language.references import places_in, quantity_in
from offline_model.language.wishes import Wishes
from offline_model.playing.asking import question
from offline_model.playing.conversation import MadeCall
from offline_model.playing.play import Play, call
from offline_model.playing.recommending import Recommendation, fits, summary
from offline_model.playing.remembering import with_receipts
from offline_model.playing.scene import Scene
from offline_model.playing.searching import destination_for, search_plan
from offline_model.playing.shown import Item, item_spoken_of, items_found

_TOOL = "landed_price"


def price_at_the_door(scene: Scene, wishes: Wishes) -> Play | None:
    """The next step: a question, the sum, or its answer; None where a search comes first or nothing is asked."""
    if not asks_for_price_at_the_door(scene, wishes) or _TOOL not in scene.tools:
        return None
    made = scene.results_of(_TOOL)
    if made:
        return _answer(scene, made[-1])
    if scene.told_to_wrap_up:
        return None
    destination = destination_of(scene.words) or destination_for(scene)
    if destination is None:
        return question(scene.words, Missing.DESTINATION)
    item = _item(scene, wishes)
    if item is None:
        searched = scene.results_of("item_search") or product_to_price(scene.words, wishes)
        return None if searched else question(scene.words, Missing.PRODUCT)
    arguments = {"quantity": quantity_in(scene.words), "currency": currency_in(scene.words)}
    return Play(calls=(call(_TOOL, item_id=str(item["item_id"]), destination=destination, **arguments),))


def asks_for_price_at_the_door(scene: Scene, wishes: Wishes) -> bool:
    intent = intent_of(scene.words, wishes)
    return intent is Intent.LANDED_PRICE and not asks_how_things_are(scene.words, intent)


def _item(scene: Scene, wishes: Wishes) -> Item | None:
    """A product that the words name goes before what was spoken of, unless they point into the list."""
    if product_to_price(scene.words, wishes) and not places_in(scene.words):
        plan = search_plan(scene, wishes)
        found = items_found(scene.made)
        return next((item for item in found if plan is None or fits(item, plan)), None)
    return item_spoken_of(scene)


def _answer(scene: Scene, made: MadeCall) -> Play:
    chinese = is_chinese(scene.words)
    lines = _lines_of(made)
    if not lines and _is_not_sent_there(made):
        country = str((made.arguments or {}).get("destination", ""))
        there = in_language(chinese, f"这件商品不寄到 {country}。", f"This product is not sent to {country}.")
        return Play(with_receipts(scene, there))
    if not lines:
        failed = in_language(
            chinese,
            "这件商品寄到那里的到手价现在算不出来，请以平台结算页为准。",
            "I cannot work out the price at the door for this product and country; the checkout page has it.",
        )
        return Play(with_receipts(scene, failed))
    item_id = str((made.arguments or {}).get("item_id", ""))
    found = next((item for item in items_found((*scene.made, *scene.earlier)) if item.get("item_id") == item_id), {})
    reply = "\n".join(_told(made.result_data, str(found.get("title") or item_id), chinese))
    found_now = any(item.get("item_id") == item_id for item in items_found(scene.made))
    reason = in_language(chinese, "按它算的到手价", "the price at the door is worked out for it")
    items = [{"item_id": item_id, "reason": reason}] if found_now else []
    return summary(scene, Recommendation(reply, items))


def _is_not_sent_there(made: MadeCall) -> bool:
    data = made.result_data
    return isinstance(data, dict) and "is not sent to" in str(data.get("error"))


def _lines_of(made: MadeCall) -> list[dict[str, Any]]:
    data = made.result_data
    lines = data.get("lines") if isinstance(data, dict) else None
    return [line for line in lines if isinstance(line, dict)] if isinstance(lines, list) else []


_KINDS = {
    "goods": ("货价", "goods"),
    "shipping": ("运费", "shipping"),
    "duty": ("关税", "duty"),
    "tax": ("增值税或消费税", "VAT or GST"),
    "handling": ("手续费", "handling"),
}


def _told(price: dict[str, Any], title: str, chinese: bool) -> Iterator[str]:
    currency, total = price.get("currency", ""), price.get("total")
    yield in_language(
        chinese,
        f"「{title}」×{price.get('quantity', 1)} 寄到 {price.get('destination')} 的到手价：{total} {currency}。",
        f'"{title}" x{price.get("quantity", 1)} delivered to {price.get("destination")}: {total} {currency}.',
    )
    for line in price["lines"]:
        if isinstance(line, dict):
            yield _told_line(line, str(currency), chinese)
    if price.get("complete") is False:
        yield in_language(
            chinese,
            "有的项目事先算不出来，合计不是最终价格，以平台结算页为准。",
            "Some lines cannot be known beforehand: the total is not final, the checkout page is.",
        )


def _told_line(line: dict[str, Any], currency: str, chinese: bool) -> str:
    kind = str(line.get("kind", ""))
    unknown = in_language(chinese, "事先算不出来", "not known beforehand")
    amount = unknown if line.get("amount") is None else f"{line['amount']} {currency}"
    since = in_language(chinese, f"，{line['since']} 起", f", since {line['since']}") if line.get("since") else ""
    estimated = in_language(chinese, "，估算", ", estimated") if line.get("estimated") else ""
    name = in_language(chinese, *_KINDS.get(kind, (kind, kind)))
    return in_language(
        chinese,
        f"- {name}：{amount}（{line.get('rule') or '未注明'}{since}{estimated}）",
        f"- {name}: {amount} ({line.get('rule') or 'no rule given'}{since}{estimated})",
    )
