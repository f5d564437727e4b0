"""`item_picker`'s core: drops what the session ruled out and orders the rest. Pure; nothing leaves without a reason."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.catalogue.exclusion import first_mention
from agent.catalogue.products import Product
from agent.catalogue.searchable import SearchableProduct, searchable
from agent.session_constraints.bundle import MemoryBundle
from common.text import normalise

_MUST_GAIN = 2.0
_PENALTY_LOSS = 2.0
_AFFINITY_GAIN = 1.0


@dataclass(frozen=True)
class Picked:
    """A product that stays, and the session's words that moved it up or down."""

    product: Product
    gained_by: tuple[str, ...] = ()
    lost_by: tuple[str, ...] = ()
    favourite: bool = False


@dataclass(frozen=True)
class Dropped:
    """A product that the session's exclude `word` rules out."""

    item_id: str
    word: str


@dataclass(frozen=True)
class Picking:
    items: tuple[Picked, ...]
    dropped: tuple[Dropped, ...]


def pick(products: Sequence[Product], bundle: MemoryBundle) -> Picking:
    """`products` in the order of the search, which decides among equals."""
    kept: list[Picked] = []
    dropped: list[Dropped] = []
    for product in products:
        entry = searchable(product)
        word = first_mention(bundle.exclude, entry.claims, entry.declared)
        if word is not None:
            dropped.append(Dropped(product.item_id, word))
        else:
            kept.append(_weighed(entry, bundle))
    return Picking(tuple(sorted(kept, key=_score, reverse=True)), tuple(dropped))


def _weighed(entry: SearchableProduct, bundle: MemoryBundle) -> Picked:
    product = entry.product
    words = "\n".join([entry.claims, entry.declared, *map(normalise, product.attributes.values())])
    return Picked(
        product,
        gained_by=tuple(word for word in bundle.must if first_mention([word], words, "")),
        lost_by=tuple(word for word in bundle.penalty if first_mention([word], words, "")),
        favourite=product.item_id in bundle.affinity,
    )


def _score(picked: Picked) -> float:
    gained, lost = _MUST_GAIN * len(picked.gained_by), _PENALTY_LOSS * len(picked.lost_by)
    return gained - lost + (_AFFINITY_GAIN if picked.favourite else 0.0)
