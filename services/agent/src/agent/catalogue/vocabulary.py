"""The words by which materials and allergens go, all of them together."""

from collections.abc import Iterator
from functools import cache

from agent.catalogue.allergens import ALLERGENS
from agent.catalogue.materials import MATERIALS
from agent.catalogue.terms import Term
from common.text import normalise


def words_within(normalised: str) -> list[str]:
    """The words whose letters stand in the text, longest first (「杏仁」 before 「杏」). Whether they are words
    there is for the caller to see."""
    return [word for word in _vocabulary() if word in normalised]


def words_of_kind(word: str) -> list[str]:
    """The normalised word itself, then every word of what goes by it: 「坚果」 is also an almond."""
    kinds = (term for term in _terms() if word in map(normalise, term.words()))
    return list(dict.fromkeys([word, *(normalise(each) for term in kinds for each in term.words())]))


def _terms() -> Iterator[Term]:
    yield from ALLERGENS.values()
    yield from MATERIALS.values()


@cache
def _vocabulary() -> tuple[str, ...]:
    words = {normalise(word) for term in _terms() for word in term.words()}
    return tuple(sorted(words, key=lambda word: (-len(word), word)))
