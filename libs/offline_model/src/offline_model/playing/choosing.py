"""Goes back over the conversation: takes the user's choice from what was shown, and sums up what was chosen."""

from collections.abc import Sequence

from offline_model.directives import without_directives
from offline_model.language.choices import asks_for_recap, chosen_position
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.wishes import Wishes
from offline_model.playing.conversation import PastTurn
from offline_model.playing.play import Play
from offline_model.playing.scene import Scene
from offline_model.playing.shown import items_shown, last_shown, told
from offline_model.playing.summaries import Section, section_of


def choose(scene: Scene, wishes: Wishes) -> Play | None:
    """「就要第二款」: of the list shown last."""
    position = chosen_position(scene.words)
    if position is None:
        return None
    shown = last_shown(scene)
    if position >= len(shown):
        return None
    item, chinese = told(shown[position]), is_chinese(scene.words)
    chosen = in_language(chinese, f"好的，选定「{item}」。", f'All right: "{item}". ')
    return Play(chosen + in_language(chinese, *(_CAN_ORDER if "order_propose" in scene.tools else _CANNOT_ORDER)))


_CAN_ORDER = (
    "要买就说「下单」，我备好订单卡由你决定；还需要找别的吗？",
    'Say "order it" and I prepare a card for you to decide on. Shall I look for anything else?',
)
_CANNOT_ORDER = (
    "下单请到平台完成；还需要找别的吗？",
    "Please order it on its platform. Shall I look for anything else?",
)


def recapitulate(scene: Scene, wishes: Wishes) -> Play | None:
    """What the user chose in each turn that showed something; where they chose nothing, what came first."""
    if not asks_for_recap(scene.words, wishes.queries):
        return None
    chosen = list(dict.fromkeys([*section_of(scene.summary, Section.DECISIONS), *decisions(scene.past)]))
    chinese = is_chinese(scene.words)
    if not chosen:
        return Play(in_language(chinese, "这个会话里还没有选过商品。", "Nothing has been chosen in this session yet."))
    opening = in_language(chinese, "这次选下来是这些：", "This is what it has come to:")
    return Play("\n".join([opening, *(f"{n}. {item}" for n, item in enumerate(chosen, start=1))]))


def decisions(turns: Sequence[PastTurn]) -> list[str]:
    """One item per turn that showed some: the chosen one, or the first."""
    kept: list[str] = []
    shown: list[str] = []
    for turn in turns:
        position = chosen_position(without_directives(turn.said))
        if position is not None and position < len(shown):
            kept[-1] = shown[position]
        if now := [told(item) for item in items_shown(turn)]:
            shown = now
            kept.append(now[0])
    return list(dict.fromkeys(kept))
