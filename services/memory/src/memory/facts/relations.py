"""How a proposed fact relates to what is known: said already, or in contradiction to it.

Keys are part of what is said: the value 42 alone says something only under `shoe_size`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from common.text import normalise
from memory.facts.gate import ValidFact
from memory.facts.similarity import exclude_each_other, say_the_same
from memory.facts.wording.claim import Claim
from memory.facts.wording.content import content_words, might_hold
from memory.facts.wording.line import Line
from memory.facts.wording.persons import subject_of


class KnownFact(Protocol):
    @property
    def fact_key(self) -> str: ...

    @property
    def value(self) -> str: ...


Known = TypeVar("Known", bound=KnownFact)


@dataclass(frozen=True)
class Relations(Generic[Known]):
    same: Known | None
    """Says what the fact says, under whatever key; its own key first."""
    contradicted: Sequence[Known]
    """Under other keys, and cannot hold beside it."""


_BARE_MAX = 6
"""Length of a word up to which one or two of them are an answer to their key, and say nothing by themselves."""
_LIKING = re.compile(r"喜|\blike\b")

# What keys of the same subject are decorated with. Words of attitude are no decoration.
_DECORATING = (
    "default my user users usual preferred preference favourite favorite main current the to of for in country "
    "region address location "
    "destination eu us uk cm number value type"
)
_DECORATION = frozenset(_DECORATING.split())


def relations_of(fact: ValidFact, known: Sequence[Known]) -> "Relations[Known]":
    """Compares a fact with the known ones about the same person that share anything with it."""
    claim, line = Claim(fact.key, fact.value), Line(fact.value)
    same: list[Known] = []
    contradicted: list[Known] = []
    for row in known:
        same_subject = _same_subject(fact.key, row.fact_key)
        if not (same_subject or might_hold(normalise(row.value), claim.units)):
            continue
        if subject_of(row.fact_key, row.value) != claim.subject:
            continue
        other = Line(row.value)
        bare = _is_bare(line), _is_bare(other)
        if say_the_same(other, line) and (same_subject or not any(bare)):
            same.append(row)
        elif row.fact_key != fact.key and ((all(bare) and same_subject) or exclude_each_other(other, line)):
            contradicted.append(row)
    under_its_key = next((row for row in same if row.fact_key == fact.key), None)
    return Relations(under_its_key or next(iter(same), None), contradicted)


def _is_bare(line: Line) -> bool:
    words = content_words(line.folded)
    says_nothing = not line.against and _LIKING.search(line.folded) is None
    return says_nothing and len(words) <= 2 and sum(map(len, words)) <= _BARE_MAX * len(words)


def _same_subject(left: str, right: str) -> bool:
    if left == right:
        return True
    words = _subject_words(left)
    return bool(words) and words == _subject_words(right)


def _subject_words(key: str) -> frozenset[str]:
    return frozenset(key.split("_")) - _DECORATION
