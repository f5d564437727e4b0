"""Long-term memory in the main model's hands: saving what the user asks to keep, and telling what is known."""

from dataclasses import replace

from offline_model.language.languages import in_language, is_chinese
from offline_model.language.statements import Statement, statements_in
from offline_model.language.wishes import Wishes, wishes_in, without_remember_marks
from offline_model.playing.blocks import external_text
from offline_model.playing.conversation import MadeCall
from offline_model.playing.known_keys import key_for, worth_saying
from offline_model.playing.play import Play, call
from offline_model.playing.scene import Scene

_MAX_SAVES = 3


def save(scene: Scene, wishes: Wishes) -> Play | None:
    """Before anything else, so that the receipt is there for the answer."""
    if "save_memory" not in scene.tools or scene.told_to_wrap_up:
        return None
    made = scene.results_of("save_memory")
    done = {made_call.arguments["key"] for made_call in made if made_call.arguments and "key" in made_call.arguments}
    wanted = [statement for statement in _to_save(scene) if statement.key not in done]
    if not wanted or len(made) >= 2 * _MAX_SAVES:
        return None
    return Play(
        calls=tuple(
            call("save_memory", key=statement.key, value=statement.value, category=statement.category)
            for statement in wanted[:_MAX_SAVES]
        )
    )


def _to_save(scene: Scene) -> list[Statement]:
    """What the user asks to keep; and what they say of a remembered rule, that it holds no longer."""
    wishes = wishes_in(scene.said)
    if wishes.asks_what_is_known or wishes.asks_to_forget:
        return []
    taken_back = [statement for statement in statements_in(scene.said) if statement.takes_back]
    if not wishes.to_remember:
        return _worth_saving(scene, taken_back)
    statements = _worth_saving(scene, [*statements_in(wishes.to_remember, meant_to_last=True), *taken_back])
    if statements or wishes.queries:
        return statements
    value = without_remember_marks(wishes.to_remember)
    return [Statement(_subject_of(value), value, "preference", value)] if value else []


def _worth_saving(scene: Scene, statements: list[Statement]) -> list[Statement]:
    kept = {
        key_for(statement, scene.facts): statement
        for statement in reversed(statements)
        if worth_saying(statement, scene.facts)
    }
    return [replace(statement, key=key) for key, statement in reversed(kept.items())]


_SUBJECTS = (
    (("手机", "电话", "phone"), "phone_number"),
    (("邮箱", "邮件", "email", "e-mail", "@"), "email"),
    (("卡号", "银行卡", "信用卡", "card number", "credit card", "iban"), "card_number"),
    (("身份证", "护照", "passport", "id number"), "id_number"),
    (("地址", "address"), "address"),
    (("生日", "birthday"), "birthday"),
    (("颜色", "色", "colour", "color"), "favourite_colour"),
    (("风格", "style"), "style_preference"),
    (("座位", "seat"), "seat_preference"),
    (("预算", "budget"), "budget"),
    (("礼物", "gift"), "gift_note"),
)


def _subject_of(value: str) -> str:
    """A key for what no rule of language understands; the gate of the memory service judges the value."""
    folded = value.casefold()
    return next((key for signs, key in _SUBJECTS if any(sign in folded for sign in signs)), "note")


def receipts(scene: Scene) -> list[str]:
    """What save_memory answered, as it says it, or in the user's language: they are told exactly what became of it."""
    chinese = is_chinese(scene.words)
    messages: list[str] = []
    for made in scene.results_of("save_memory"):
        data = made.result_data
        if isinstance(data, dict) and isinstance(data.get("message"), str):
            messages.append(data["message"] if chinese else _in_english(data["message"], bool(data.get("saved"))))
    return list(dict.fromkeys(messages))


_SAVED = "记住了 "


def _in_english(message: str, saved: bool) -> str:
    if not saved:
        return "This has not been kept in long-term memory."
    return f"Remembered: {message.removeprefix(_SAVED)}" if message.startswith(_SAVED) else "I remember this already."


def with_receipts(scene: Scene, reply: str) -> str:
    return "\n".join([*receipts(scene), reply])


def tell_what_is_known(scene: Scene, wishes: Wishes) -> Play | None:
    if not wishes.asks_what_is_known:
        return None
    recalled = scene.results_of("recall_memories")
    if not recalled and "recall_memories" in scene.tools and not scene.told_to_wrap_up:
        return Play(calls=(call("recall_memories", topic=_topic(scene.words)),))
    chinese = is_chinese(scene.words)
    lines = list(dict.fromkeys([*(fact.value for fact in scene.facts), *_recalled_lines(recalled)]))
    if not lines:
        nothing = in_language(chinese, "我还没有记住关于你的事。", "I have not remembered anything about you yet.")
        return Play(nothing)
    opening = in_language(chinese, "关于你，我记得这些：", "This is what I remember about you:")
    closing = in_language(
        chinese, "可以在偏好页查看、修改或删除。", "You can view, edit or delete it on the preferences page."
    )
    return Play("\n".join([opening, *(f"- {line}" for line in lines), closing]))


_TOPICS = (
    "过敏",
    "尺码",
    "鞋",
    "品牌",
    "牌子",
    "收货",
    "寄",
    "材质",
    "宠物",
    "allerg",
    "shoe",
    "size",
    "brand",
    "ship",
    "material",
    "pet",
)


def _topic(words: str) -> str:
    """What to look up. Memory searches by substring, so one word finds more than a sentence; "" finds all."""
    folded = words.casefold()
    return next((topic for topic in _TOPICS if topic in folded), "")


def _recalled_lines(recalled: list[MadeCall]) -> list[str]:
    lines: list[str] = []
    for made in recalled:
        data = made.result_data
        facts = data.get("facts", []) if isinstance(data, dict) else []
        if isinstance(facts, list) and facts:
            lines += [str(fact["value"]) for fact in facts if isinstance(fact, dict) and "value" in fact]
        elif data is None:
            lines += _lines_of_facts(external_text(made.result))
    return lines


def _lines_of_facts(text: str) -> list[str]:
    listed = [line.removeprefix("- ").strip() for line in text.splitlines() if line.startswith("- [")]
    return [line.partition(": ")[2] or line for line in listed]


def explain_forgetting(scene: Scene, wishes: Wishes) -> Play | None:
    if not wishes.asks_to_forget:
        return None
    return Play(
        in_language(
            is_chinese(scene.words),
            "我不能替你删除记忆。你可以在偏好页删除单条，或一键清空全部。",
            "I cannot delete memories for you. Delete single ones or clear all on the preferences page.",
        )
    )
