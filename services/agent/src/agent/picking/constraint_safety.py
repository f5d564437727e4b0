"""Marks on results that contradict a `[constraint]` fact. Nothing is filtered by them: the model and the user see them.

Long-term memory never filters by mechanism (design section 6). What it can do by mechanism is to make sure that nobody
overlooks a contradiction.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from agent.catalogue.allergens import ALLERGENS
from agent.catalogue.exclusion import first_mention
from agent.catalogue.materials import MATERIALS
from agent.catalogue.products import Product
from agent.catalogue.searchable import make_searchable
from agent.context.memory_block import RememberedConstraint
from common.text import normalise

_CLAUSES = re.compile(r"[,;。!?]")
_WANTED = re.compile(r"只要|只买|想要|喜欢|偏好|可以|能吃|没问题|\b(?:only|prefers?|likes?|wants?|fine|okay|ok)\b")
_RULES_OUT = re.compile(
    r"不|别|勿|忌|戒|避|拒|过敏|敏感|不耐受|无法|讨厌"
    r"|\b(?:no|not|never|avoid\w*|without|free|allerg\w*|intoleran\w*|sensitive|cannot|can't|don't|hates?)\b"
)


class Contradiction(NamedTuple):
    """A product has the `word` that the constraint rules out."""

    item_id: str
    constraint: RememberedConstraint
    word: str


def contradictions(products: Sequence[Product], constraints: Sequence[RememberedConstraint]) -> Iterator[Contradiction]:
    """By product, then by key. Only what rules something out is read: 「只要真皮」 names nothing to avoid."""
    ruled_out = [(constraint, words) for constraint in sorted(constraints) if (words := _ruled_out_by(constraint))]
    for product in products:
        searchable = make_searchable(product)
        for constraint, words in ruled_out:
            word = first_mention(words, searchable.claims, searchable.declared)
            if word is not None:
                yield Contradiction(product.item_id, constraint, word)


def marks_of(products: Sequence[Product], constraints: Sequence[RememberedConstraint]) -> dict[str, list[str]]:
    """By item id, for the marked ones alone: each contradiction as "key: word", another person's with their name."""
    marks: dict[str, list[str]] = {}
    for item_id, constraint, word in contradictions(products, constraints):
        whose = "" if constraint.subject == "self" else f"（{constraint.subject}）"
        marks.setdefault(item_id, []).append(f"{constraint.key}{whose}: {word}")
    return marks


def names_conflict(text: str, mark: str) -> bool:
    """Whether the text says what a mark says, in any word for it. 「不含坚果」 does not: it says the opposite."""
    word = normalise(mark.rpartition(": ")[2])
    return first_mention(_words_of_kind(word), normalise(text), "") is not None


def _ruled_out_by(constraint: RememberedConstraint) -> tuple[str, ...]:
    """What a constraint that rules something out names, without the clauses that only say what is wanted."""
    value = normalise(constraint.value)
    if not (_RULES_OUT.search(value) or _RULES_OUT.search(constraint.key.replace("_", " "))):
        return ()
    clauses = (clause for clause in _CLAUSES.split(value) if _RULES_OUT.search(clause) or not _WANTED.search(clause))
    return _named_in("\n".join(clauses))


@lru_cache(maxsize=500)
def _words_of_kind(word: str) -> tuple[str, ...]:
    """All words of every material and allergen that goes by this word, and the word itself."""
    kinds = [
        term for terms in (ALLERGENS, MATERIALS) for term in terms.values() if word in map(normalise, term.words())
    ]
    return tuple(dict.fromkeys([word, *(each for term in kinds for each in term.words())]))


@lru_cache(maxsize=2_000)
def _named_in(value: str) -> tuple[str, ...]:
    """The materials and allergens that a value names, in any of their words; longest first, so that 「杏仁奶」 is found
    as what it is before 「奶」."""
    words = {word for terms in (ALLERGENS, MATERIALS) for term in terms.values() for word in term.words()}
    return tuple(sorted((word for word in words if first_mention([word], "", value)), key=lambda w: (-len(w), w)))
