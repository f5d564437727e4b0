"""How a proposed fact relates to what is known: said already, or in contradiction to it.

Keys are part of what is said: the value 42 alone says something only under `shoe_size`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from memory.facts.gate import ValidFact
from memory.facts.similarity import exclude_each_other, say_the_same
from memory.facts.wording.claim import Claim
from memory.facts.wording.content import might_hold
from memory.facts.wording.line import Line
from memory.facts.wording.persons import subject_in


@dataclass(frozen=True)
class KnownFact:
    """A fact that new ones are compared with; taken apart once, however many there are."""

    fact_key: str
    value: str

    @cached_property
    def line(self) -> Line:
        return Line(self.value)

    @cached_property
    def subject(self) -> str:
        return subject_in(self.fact_key, self.line.normalised)

    @cached_property
    def subject_words(self) -> frozenset[str]:
        return _subject_words(self.fact_key)


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
    may_share = might_hold(claim.units)
    subject_words = _subject_words(fact.key)
    same: list[Known] = []
    contradicted: list[Known] = []
    for row in known:
        same_subject = fact.key == row.fact_key or bool(subject_words and subject_words == row.subject_words)
        if not (same_subject or may_share(row.line.normalised)) or row.subject != claim.subject:
            continue
        if say_the_same(row.line, line) and (same_subject or not (_is_bare(line) or _is_bare(row.line))):
            same.append(row)
        elif row.fact_key != fact.key and (
            (same_subject and _is_bare(line) and _is_bare(row.line)) or exclude_each_other(row.line, line)
        ):
            contradicted.append(row)
    under_its_key = next((row for row in same if row.fact_key == fact.key), None)
    return Relations(under_its_key or next(iter(same), None), contradicted)


def _is_bare(line: Line) -> bool:
    words = line.words
    if len(words) > 2 or sum(map(len, words)) > _BARE_MAX * len(words):
        return False
    return not line.against and _LIKING.search(line.folded) is None


def _subject_words(key: str) -> frozenset[str]:
    return frozenset(key.split("_")) - _DECORATION
