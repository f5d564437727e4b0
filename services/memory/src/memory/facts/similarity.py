"""When two values say the same thing (S0 section 7: character bigrams, since Chinese has no spaces)."""

import re

from common.text import normalise

SAME_FACT_THRESHOLD = 0.6

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_NEGATION = re.compile(r"[不无没非别勿]|\b(?:no|not|never|without|avoid|don't|doesn't)\b|free\b")


def same_fact(left: str, right: str) -> bool:
    """Bigram Jaccard of at least 0.6, unless the two differ in a number or in being negated.

    Both guards exist because the bare measure takes changed preferences for repetitions (`docs/decisions`).
    """
    left, right = normalise(left), normalise(right)
    if left == right:
        return True
    if sorted(_NUMBER.findall(left)) != sorted(_NUMBER.findall(right)):
        return False
    if len(_NEGATION.findall(left)) % 2 != len(_NEGATION.findall(right)) % 2:
        return False
    ours, theirs = bigrams(left), bigrams(right)
    return len(ours & theirs) / len(ours | theirs) >= SAME_FACT_THRESHOLD


def bigrams(text: str) -> frozenset[str]:
    """Character bigrams without white space; a single character is its own."""
    packed = "".join(text.split())
    if len(packed) < 2:
        return frozenset({packed})
    return frozenset(packed[at : at + 2] for at in range(len(packed) - 1))
