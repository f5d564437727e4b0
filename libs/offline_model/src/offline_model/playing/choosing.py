"""Goes back over the conversation: takes the user's choice from what was shown, and sums up what was chosen."""

from collections.abc import Iterator, Sequence
from typing import Any

from offline_model.directives import without_directives
from offline_model.language.choices import asks_for_recap, chosen_position
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.wishes import Wishes
from offline_model.playing.conversation import PastTurn
from offline_model.playing.play import Play
from offline_model.playing.scene import Scene
from offline_model.playing.summaries import Section, section_of


def choose(scene: Scene, wishes: Wishes) -> Play | None:
    """「就要第二款」: of the list shown last."""
    position = chosen_position(scene.words)
    if position is None:
        return None
    shown = next((shown for turn in reversed(scene.past) if (shown := items_shown(turn))), [])
    if position >= len(shown):
        return None
    item = shown[position]
    return Play(
        in_language(
            is_chinese(scene.words),
            f"好的，选定「{item}」。下单请到平台完成；还需要找别的吗？",
            f'All right: "{item}". Please order it on its platform. Shall I look for anything else?',
        )
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
        if now := items_shown(turn):
            shown = now
            kept.append(now[0])
    return list(dict.fromkeys(kept))


def items_shown(turn: PastTurn) -> list[str]:
    """What the user was shown in a turn, as "title, price", in its order."""
    found = {str(item.get("item_id")): item for item in _items_found(turn)}
    named = [
        str(named.get("item_id"))
        for made in turn.made
        if made.name == "shopping_summary" and made.arguments
        for named in made.arguments.get("items", [])
        if isinstance(named, dict)
    ]
    return [_told(found.get(item_id, {"title": item_id})) for item_id in named]


def _items_found(turn: PastTurn) -> Iterator[dict[str, Any]]:
    for made in turn.made:
        data = made.result_data if made.name == "item_search" else None
        items = data.get("items") if isinstance(data, dict) else None
        yield from (item for item in items or [] if isinstance(item, dict))


def _told(item: dict[str, Any]) -> str:
    price = f"{item.get('price', '')} {item.get('currency', '')}".strip()
    return f"{item.get('title')}，{price}" if price else str(item.get("title"))
