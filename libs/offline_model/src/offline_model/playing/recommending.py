"""Writes the recommendation from what the searches returned."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from common.text import normalise
from offline_model.directives import DirectiveName
from offline_model.language.intents import Intent
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.questions import asks_for_cheapest
from offline_model.language.wishes import asks_for_others
from offline_model.playing.play import Play, call
from offline_model.playing.remembering import with_receipts
from offline_model.playing.scene import Scene
from offline_model.playing.searching import SearchPlan
from offline_model.playing.shown import items_shown
from offline_model.playing.straying import strays

_MAX_ITEMS = 5
_DENIED = re.compile(r"(?:不含|不加|无|零)\w{1,4}|\b(?:no|without) \w+|\b\w+-free\b")
"""A title that says what is not in the product."""

_NUMBER_OF = re.compile(r"\d+\s*[只个袋包片支盒瓶条双本张件枚颗]")
"""In a title it says how many are in it, and names no thing."""


@dataclass(frozen=True)
class Recommendation:
    reply: str
    items: list[dict[str, str]]
    """`item_id` and `reason`, as shopping_summary takes them."""


def recommendation(scene: Scene, plan: SearchPlan, results: "list[list[dict[str, object]]]") -> Recommendation:
    chinese = is_chinese(scene.words)
    careless = strays(scene, DirectiveName.IGNORE_CONSTRAINT)
    fitting = [
        [item for item in items if fits(item, plan) and (careless or not item.get("marks"))] for items in results
    ]
    bundle = plan.intent is Intent.BUNDLE
    if bundle:
        fitting = [_of_kind(items, part) for items, part in zip(fitting, plan.queries, strict=False)]
    if asks_for_others(scene.words):
        fitting = [_not_shown_yet(items, scene) for items in fitting]
    items = list(_first_of_each(fitting) if bundle else _taken_in_turn(fitting))[:_MAX_ITEMS]
    if asks_for_cheapest(scene.words) and _of_one_currency(items):
        items.sort(key=_price)
    sought = in_language(chinese, "、", ", ").join(plan.sought)
    if not items:
        nothing = in_language(
            chinese,
            f"没有找到符合全部条件的「{sought}」，可以放宽预算或换个说法再试。",
            f'I found nothing that meets every condition for "{sought}". You could raise the budget or rephrase it.',
        )
        return Recommendation("\n".join([nothing, *_limited_to(plan, chinese)]), [])
    opening = in_language(chinese, f"为你找到这些「{sought}」：", f'Here is what I found for "{sought}":')
    listed = [f"{number}. {_line(item, chinese)}" for number, item in enumerate(items, start=1)]
    closing = [*_comparison(items, plan, chinese), *_total(items, plan, chinese)]
    closing += _missing_parts(fitting, plan, chinese) if bundle else []
    if not careless:
        closing += [*_left_out(results, chinese), *_obeyed(scene, plan, chinese)]
    reply = "\n".join([opening, *listed, *closing])
    reasons = [{"item_id": str(item["item_id"]), "reason": _reason(item, plan, chinese)} for item in items]
    return Recommendation(reply, reasons)


def summary(scene: Scene, recommended: Recommendation) -> Play:
    """Ends the turn. A summary that was refused is tried once more, then the words go out as they are."""
    reply = with_receipts(scene, recommended.reply)
    tries = len(scene.results_of("shopping_summary"))
    if not recommended.items or "shopping_summary" not in scene.tools or tries > 1:
        return Play(reply)
    return Play(calls=(call("shopping_summary", reply=reply, items=recommended.items),))


def _taken_in_turn(results: "list[list[dict[str, object]]]") -> "Iterator[dict[str, object]]":
    """The best of each search, then the second of each, and so on; each item once."""
    shown: set[object] = set()
    for rank in range(max(map(len, results), default=0)):
        for items in results:
            if rank < len(items) and items[rank].get("item_id") not in shown:
                shown.add(items[rank].get("item_id"))
                yield items[rank]


def _first_of_each(results: "list[list[dict[str, object]]]") -> "Iterator[dict[str, object]]":
    """One thing for each part of a set."""
    shown: set[object] = set()
    for items in results:
        item = next((item for item in items if item.get("item_id") not in shown), None)
        if item is not None:
            shown.add(item.get("item_id"))
            yield item


def _of_kind(items: "list[dict[str, Any]]", part: str) -> "list[dict[str, Any]]":
    """Those whose title has the head of the part's name, which both languages put last: a set without an adapter is
    better than one with trousers in its place. Searches find something for everything."""
    head = part[-1] if not part.isascii() else part.split()[-1].removesuffix("s")
    return [item for item in items if head.casefold() in _NUMBER_OF.sub("", str(item.get("title", "")).casefold())]


def _not_shown_yet(items: "list[dict[str, Any]]", scene: Scene) -> "list[dict[str, Any]]":
    before = {item.get("item_id") for turn in scene.past for item in items_shown(turn)}
    return [item for item in items if item.get("item_id") not in before]


def _limited_to(plan: SearchPlan, chinese: bool) -> Iterator[str]:
    """What the user did not say this time, and may not think of."""
    limits = [plan.ships_to or "", *plan.platforms]
    if any(limits):
        told = in_language(chinese, "、", ", ").join(filter(None, limits))
        yield in_language(chinese, f"这次只看了：{told}。", f"I looked only at: {told}.")


def _missing_parts(found: "list[list[dict[str, Any]]]", plan: SearchPlan, chinese: bool) -> Iterator[str]:
    missing = [part for items, part in zip(found, plan.queries, strict=False) if not items]
    if missing:
        told = in_language(chinese, "、", ", ").join(missing)
        yield in_language(chinese, f"没有找到合适的{told}。", f"I found no fitting {told}.")


def fits(item: "dict[str, Any]", plan: SearchPlan) -> bool:
    """A second look at what the search let through: the model answers for what it recommends."""
    if not item.get("item_id"):
        return False
    declared = normalise(" ".join([*_words(item, "materials"), *_words(item, "allergens")]))
    title = _DENIED.sub(" ", normalise(str(item.get("title", ""))))
    if any(_mentions(normalise(word), f"{title} {declared}") for word in plan.exclude):
        return False
    destinations = _words(item, "ships_to")
    return plan.ships_to is None or not destinations or plan.ships_to in destinations


def _mentions(word: str, text: str) -> bool:
    """English words count as words, or "nut" would be found in "minute"."""
    if not word.isascii():
        return word in text
    return re.search(rf"\b{re.escape(word)}(?:s|es)?\b", text) is not None


def _words(item: "dict[str, Any]", name: str) -> list[str]:
    value = item.get(name)
    return [str(word) for word in value] if isinstance(value, list) else [str(value)] if value else []


def _line(item: "dict[str, Any]", chinese: bool) -> str:
    parts = [str(item.get("title", item["item_id"])), f"{item.get('price', '?')} {item.get('currency', '')}".strip()]
    if item.get("platform"):
        parts.append(str(item["platform"]))
    return in_language(chinese, "，", ", ").join(parts)


def _reason(item: "dict[str, Any]", plan: SearchPlan, chinese: bool) -> str:
    parts: list[str] = []
    if plan.price_max is not None or plan.price_min is not None:
        parts.append(in_language(chinese, "价格符合要求", "within your price range"))
    if plan.ships_to:
        parts.append(in_language(chinese, f"可寄到 {plan.ships_to}", f"ships to {plan.ships_to}"))
    if plan.exclude and not item.get("marks"):
        parts.append(in_language(chinese, "不含要避开的成分或材质", "free of what you avoid"))
    if gained := _words(item, "gained_by"):
        between = in_language(chinese, "、", ", ").join(gained)
        parts.append(in_language(chinese, f"有你要的{between}", f"has what you asked for: {between}"))
    if item.get("favourite"):
        parts.append(in_language(chinese, "在你的收藏里", "among your favourites"))
    parts = parts or [in_language(chinese, "与你的描述相符", "matches your description")]
    return in_language(chinese, "，", ", ").join(parts)


def _comparison(items: "list[dict[str, Any]]", plan: SearchPlan, chinese: bool) -> "Iterator[str]":
    """The cheapest, and what sets it apart."""
    if plan.intent is not Intent.PURCHASE_RESEARCH or len(items) < 2 or not _of_one_currency(items):
        return
    by_price = sorted(items, key=_price)
    first, last = by_price[0].get("title"), by_price[-1].get("title")
    less = f"{_price(by_price[-1]) - _price(by_price[0])} {by_price[0].get('currency')}"
    materials = in_language(chinese, "、", ", ").join(_words(by_price[0], "materials"))
    yield in_language(
        chinese,
        f"对比：{first} 最便宜，比 {last} 少 {less}；材质：{materials or '未注明'}。",
        f"Compared: {first} is the cheapest, {less} less than {last}; material: {materials or 'not stated'}.",
    )


def _total(items: "list[dict[str, Any]]", plan: SearchPlan, chinese: bool) -> "Iterator[str]":
    if plan.intent is not Intent.BUNDLE or not _of_one_currency(items):
        return
    total = f"{sum(map(_price, items))} {items[0].get('currency')}"
    yield in_language(chinese, f"一套 {len(items)} 件，合计 {total}。", f"{len(items)} things, {total} in all.")


def _of_one_currency(items: "list[dict[str, Any]]") -> bool:
    return len({item.get("currency") for item in items}) == 1


def _price(item: "dict[str, Any]") -> Decimal:
    try:
        return Decimal(str(item.get("price", 0)))
    except ArithmeticError:
        return Decimal(0)


def _left_out(results: "list[list[dict[str, Any]]]", chinese: bool) -> Iterator[str]:
    """Marked ones are not passed over in silence: the user may know better."""
    marked = list(dict.fromkeys(str(item.get("title")) for items in results for item in items if item.get("marks")))
    if marked:
        told = in_language(chinese, "、", ", ").join(marked[:3])
        yield in_language(
            chinese,
            f"有 {len(marked)} 件与记住的约束冲突，没有列出：{told}。",
            f"Left out, since they conflict with a remembered constraint ({len(marked)}): {told}.",
        )


def _obeyed(scene: Scene, plan: SearchPlan, chinese: bool) -> Iterator[str]:
    constraints = [fact.value for fact in scene.facts if fact.is_constraint]
    if constraints:
        told = in_language(chinese, "；", "; ").join(constraints)
        yield in_language(chinese, f"已按记住的约束避开：{told}。", f"Remembered constraints that I kept to: {told}.")
    if plan.ships_to_remembered:
        yield in_language(
            chinese,
            f"收货地按记住的 {plan.ships_to} 筛选。",
            f"Only items that ship to your remembered destination {plan.ships_to}.",
        )
