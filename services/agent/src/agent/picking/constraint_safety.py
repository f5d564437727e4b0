"""Marks on results that contradict a `[constraint]` fact. Nothing is filtered by them: the model and the user see them.

Long-term memory never filters by mechanism (design section 6). What it can do by mechanism is to make sure that nobody
overlooks a contradiction.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from agent.catalogue.allergens import ALLERGENS
from agent.catalogue.exclusion import first_mention
from agent.catalogue.materials import MATERIALS
from agent.catalogue.products import Product
from agent.catalogue.searchable import make_searchable
from common.memory_api.facts import Fact, MemoryCategory
from common.text import normalise

_RULES_OUT = re.compile(
    r"不|别|勿|忌|戒|避|拒|过敏|敏感|不耐受|无法|讨厌"
    r"|\b(?:no|not|never|avoid\w*|without|free|allerg\w*|intoleran\w*|sensitive|cannot|can't|don't|hates?)\b"
)


class Contradiction(NamedTuple):
    """A product has the `word` that the constraint of this key rules out."""

    item_id: str
    fact_key: str
    word: str


def contradictions(products: Sequence[Product], facts: Sequence[Fact]) -> list[Contradiction]:
    """By product, then by key. Only what rules something out is read: 「只要真皮」 names nothing to avoid."""
    constraints = sorted(
        (fact for fact in facts if fact.category is MemoryCategory.CONSTRAINT and _rules_out(fact)),
        key=lambda fact: (fact.key, fact.subject),
    )
    found: list[Contradiction] = []
    for product in products:
        searchable = make_searchable(product)
        for fact in constraints:
            word = first_mention(_named_in(normalise(fact.value)), searchable.claims, searchable.declared)
            if word is not None:
                found.append(Contradiction(product.item_id, fact.key, word))
    return found


def _rules_out(fact: Fact) -> bool:
    return bool(_RULES_OUT.search(normalise(fact.value)) or _RULES_OUT.search(fact.key.replace("_", " ")))


@lru_cache(maxsize=2_000)
def _named_in(value: str) -> tuple[str, ...]:
    """The materials and allergens that a value names, in any of their words; longest first, so that 「杏仁奶」 is found
    as what it is before 「奶」."""
    words = {word for terms in (ALLERGENS, MATERIALS) for term in terms.values() for word in term.words()}
    return tuple(sorted((word for word in words if first_mention([word], "", value)), key=lambda w: (-len(w), w)))
