"""The products of a session: what its searches returned, what the user was shown, and which one their words mean."""

from collections.abc import Iterable, Iterator
from typing import Any

from offline_model.directives import without_directives
from offline_model.language.choices import chosen_position
from offline_model.language.references import places_in, points_at_one
from offline_model.playing.conversation import MadeCall, PastTurn
from offline_model.playing.scene import Scene

Item = dict[str, Any]

_RETURN_ITEMS = ("item_search", "item_picker", "item_detail")


def items_or_none(made: MadeCall) -> list[Item] | None:
    """The items that a call returned; None where it failed."""
    data = made.result_data
    if not isinstance(data, dict):
        return None
    items = [data["item"]] if "item" in data else data.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else None


def items_found(made: Iterable[MadeCall]) -> Iterator[Item]:
    for each in made:
        if each.name in _RETURN_ITEMS:
            yield from items_or_none(each) or ()


def items_shown(turn: PastTurn) -> list[Item]:
    """What the user was shown in a turn, in its order; of an item that no search returned only the id is known."""
    found = {str(item.get("item_id")): item for item in items_found(turn.made)}
    summaries = [made.arguments for made in turn.made if made.name == "shopping_summary" and made.arguments]
    named = summaries[-1].get("items", []) if summaries else []
    ids = [str(each.get("item_id")) for each in named if isinstance(each, dict)]
    return [found.get(item_id, {"item_id": item_id}) for item_id in ids]


def last_shown(scene: Scene) -> list[Item]:
    return next((shown for turn in reversed(scene.past) if (shown := items_shown(turn))), [])


def items_meant(scene: Scene) -> list[Item]:
    """Which of the items shown last the words mean: by place, else as "it" the chosen one, or the first."""
    shown = last_shown(scene)
    places = places_in(scene.words)
    if places:
        return [shown[place] for place in places if place < len(shown)]
    return _spoken_of_last(scene, shown) if points_at_one(scene.words) else []


def item_spoken_of(scene: Scene) -> Item | None:
    """The one that the words mean, else what was chosen of the last list, else its first."""
    meant = items_meant(scene) or ([] if places_in(scene.words) else _spoken_of_last(scene, last_shown(scene)))
    return meant[0] if meant else None


def _spoken_of_last(scene: Scene, shown: list[Item]) -> list[Item]:
    for turn in reversed(scene.past):
        position = chosen_position(without_directives(turn.said))
        if position is not None and position < len(shown):
            return [shown[position]]
        if items_shown(turn):
            break
    return shown[:1]


def told(item: Item) -> str:
    """An item as "title, price"."""
    price = f"{item.get('price', '')} {item.get('currency', '')}".strip()
    title = str(item.get("title") or item.get("item_id"))
    return f"{title}，{price}" if price else title
