"""Marks on results that contradict a `[constraint]` fact. Nothing is filtered by them: the model and the user see them.

Long-term memory never filters by mechanism (design section 6). What it can do by mechanism is to make sure that nobody
overlooks a contradiction.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.catalogue.exclusion import first_mention
from agent.catalogue.products import Product
from agent.catalogue.searchable import searchable
from agent.catalogue.vocabulary import words_of_kind, words_within
from agent.context.memory_block import RememberedConstraint
from common.text import normalise

_CLAUSES = re.compile(r"[,;。!?]")
_WANTED = re.compile(r"只要|只买|想要|喜欢|偏好|可以|能吃|没问题|\b(?:only|prefers?|likes?|wants?|fine|okay|ok)\b")
_RULES_OUT = re.compile(
    r"不|无(?!所谓|妨)|别|勿|忌|戒|避|拒|过敏|敏感|不耐受|讨厌"
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
        entry = searchable(product)
        for constraint, words in ruled_out:
            word = first_mention(words, entry.claims, entry.declared)
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
    return first_mention(words_of_kind(word), normalise(text), "") is not None


def _ruled_out_by(constraint: RememberedConstraint) -> tuple[str, ...]:
    """What a constraint that rules something out names, without the clauses that only say what is wanted."""
    value = normalise(constraint.value)
    if not (_RULES_OUT.search(value) or _RULES_OUT.search(constraint.key.replace("_", " "))):
        return ()
    clauses = (clause for clause in _CLAUSES.split(value) if _RULES_OUT.search(clause) or not _WANTED.search(clause))
    return _named_in("\n".join(clauses))


def _named_in(value: str) -> tuple[str, ...]:
    """The materials and allergens that a value names, in any of their words; longest first."""
    return tuple(word for word in words_within(value) if first_mention([word], "", value))
