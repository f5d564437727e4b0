"""Questions: everything about one product, the best of those found already, and what the guides say."""

from collections.abc import Iterator
from typing import Any

from offline_model.language.demands import criteria_in, musts_in
from offline_model.language.exclusions import exclusions_in
from offline_model.language.intents import asks_how_things_are, intent_of
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.questions import asks_about_one, asks_to_pick
from offline_model.language.wishes import Wishes
from offline_model.playing.play import Play, call
from offline_model.playing.recommending import recommendation, summary
from offline_model.playing.remembering import with_receipts
from offline_model.playing.scene import Scene
from offline_model.playing.searching import SearchPlan, last_search
from offline_model.playing.shown import Item, item_spoken_of, items_or_none, last_shown

_DETAIL, _PICK, _KNOWLEDGE = "item_detail", "item_picker", "knowledge_search"
_QUERY_MAX = 200
_SECTIONS_MAX = 2
_TEXT_MAX = 400


def tell_about_item(scene: Scene, wishes: Wishes) -> Play | None:
    """「第二个是什么材质」: looked up, since a search tells less than the product's page."""
    if wishes.queries or not asks_about_one(scene.words) or _DETAIL not in scene.tools:
        return None
    made, item, chinese = scene.results_of(_DETAIL), item_spoken_of(scene), is_chinese(scene.words)
    if not made:
        if item is None or scene.told_to_wrap_up:
            return None
        return Play(calls=(call(_DETAIL, item_id=str(item["item_id"])),))
    data = made[-1].result_data
    detail = data.get("item") if isinstance(data, dict) else None
    if not isinstance(detail, dict):
        failed = in_language(chinese, "这件商品的详情现在查不到。", "I cannot look this product up at the moment.")
        return Play(with_receipts(scene, failed))
    return Play(with_receipts(scene, "\n".join(_described(detail, chinese))))


_FIELDS = (
    ("materials", "材质", "materials"),
    ("allergens", "过敏原", "allergens"),
    ("ships_from", "发货地", "ships from"),
    ("ships_to", "可寄达", "ships to"),
    ("description", "描述", "description"),
    ("attributes", "规格", "specifications"),
    ("marks", "与记住的约束冲突", "conflicts with what I remember"),
)


def _described(item: Item, chinese: bool) -> Iterator[str]:
    price = f"{item.get('price', '?')} {item.get('currency', '')}".strip()
    yield in_language(chinese, f"「{item.get('title')}」，{price}：", f'"{item.get("title")}", {price}:')
    for name, in_chinese, in_english in _FIELDS:
        value = _as_text(item.get(name), chinese) or (_not_stated(name, chinese))
        if value:
            yield f"- {in_language(chinese, in_chinese + '：', in_english + ': ')}{value}"


def _not_stated(name: str, chinese: bool) -> str:
    """What may harm must not be passed over in silence."""
    return in_language(chinese, "没有注明", "not stated") if name in ("materials", "allergens") else ""


def _as_text(value: Any, chinese: bool) -> str:
    between = in_language(chinese, "、", ", ")
    if isinstance(value, dict):
        return between.join(f"{name} {each}" for name, each in value.items())
    if isinstance(value, list):
        return between.join(str(each) for each in value)
    return "" if value is None else str(value)


def pick_again(scene: Scene, wishes: Wishes) -> Play | None:
    """「从这几款里挑一个轻便的」: among what was found, and told like what a search finds."""
    shown = last_shown(scene)
    if _PICK not in scene.tools or not asks_to_pick(scene.words) or not shown:
        return None
    made = scene.results_of(_PICK)
    if not made and not scene.told_to_wrap_up:
        must = list(dict.fromkeys([*musts_in(scene.words), *criteria_in(scene.words)]))
        item_ids = [str(item["item_id"]) for item in shown]
        return Play(calls=(call(_PICK, item_ids=item_ids, must=must, exclude=exclusions_in(scene.words)),))
    picked = items_or_none(made[-1]) if made else None
    last = last_search(scene) or {}
    plan = SearchPlan(steps=[[str(last.get("query", ""))]], exclude=exclusions_in(scene.words))
    return summary(scene, recommendation(scene, plan, [shown if picked is None else picked]))


def look_into_guides(scene: Scene, wishes: Wishes) -> Play | None:
    """How duty is worked out, sizes, materials, returns, care: of which the model itself must not make up anything."""
    intent = intent_of(scene.words, wishes)
    if not asks_how_things_are(scene.words, intent) or _KNOWLEDGE not in scene.tools:
        return None
    made, chinese = scene.results_of(_KNOWLEDGE), is_chinese(scene.words)
    if not made:
        if scene.told_to_wrap_up:
            return None
        return Play(calls=(call(_KNOWLEDGE, query=" ".join(scene.words.split())[:_QUERY_MAX]),))
    found = list(_sections(made[-1].result_data, chinese))[:_SECTIONS_MAX]
    if not found:
        nothing = in_language(
            chinese,
            "指南里没有写这个，请以商品页和平台的说明为准。",
            "The guides say nothing about this; please go by the product page and the platform.",
        )
        return Play(with_receipts(scene, nothing))
    opening = in_language(chinese, "指南里是这样写的：", "This is what the guides say:")
    return Play(with_receipts(scene, "\n".join([opening, *found])))


def _sections(data: Any, chinese: bool) -> Iterator[str]:
    sections = data.get("sections") if isinstance(data, dict) else None
    for section in sections if isinstance(sections, list) else ():
        if isinstance(section, dict) and section.get("text"):
            yield f"- {section.get('heading', '')}{in_language(chinese, '：', ': ')}{_own_lines(section, chinese)}"


def _own_lines(section: dict[str, Any], chinese: bool) -> str:
    """A guide says everything in both languages, line by line."""
    lines = str(section["text"]).splitlines()
    own = [line.strip() for line in lines if line.strip() and is_chinese(line) is chinese] or lines
    return " ".join(own)[:_TEXT_MAX]
