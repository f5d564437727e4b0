"""When two values say the same thing, and when they contradict each other (`docs/decisions/0027`).

The seeds' measure, character bigrams, takes a changed preference for a repetition of the old one: what changed is a
word. So a value repeats a known one only where it adds nothing to it, and differs from it in nothing that matters.
"""

import re
from collections.abc import Iterable

from memory.facts.wording.line import Line

SAME_FACT_THRESHOLD = 0.6

_EXCEPTION = re.compile(r"除|但|可是|只有|except|but|unless|only|apart from|other than")


def same_fact(known: str, new: str) -> bool:
    """Whether the new value says what the known one says: the same content, or a part of it in the same order.

    Differing in a person, negation, number, unit or antonym, or adding any word of content, makes it another.
    """
    return say_the_same(Line(known), Line(new))


def say_the_same(known: Line, new: Line) -> bool:
    if known.normalised == new.normalised:
        return True
    if (known.persons, known.against, known.quantities) != (new.persons, new.against, new.quantities):
        return False
    if known.parts and known.parts == new.parts:
        return True
    alike = _jaccard(known.bigrams, new.bigrams) >= SAME_FACT_THRESHOLD
    return alike and not _EXCEPTION.search(known.folded) and _in_order(new.atoms, known.atoms)


def contradicts(known: str, new: str) -> bool:
    """Whether both cannot hold: the same person and the same thing, but for and against it, in another number or
    unit, or with a word that excludes the other."""
    return exclude_each_other(Line(known), Line(new))


def exclude_each_other(known: Line, new: Line) -> bool:
    if known.persons != new.persons:
        return False
    if known.against != new.against:
        return _close(known.objects, new.objects)
    if known.quantities and new.quantities and known.quantities != new.quantities:
        return _close(known.uncounted_objects, new.uncounted_objects)
    if known.sides != new.sides and {name for name, _ in known.sides} == {name for name, _ in new.sides}:
        return _close(known.objects_without_sides, new.objects_without_sides)
    return False


def _close(left: frozenset[str], right: frozenset[str]) -> bool:
    return bool(left and right) and _jaccard(left, right) >= SAME_FACT_THRESHOLD


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / len(left | right)


def _in_order(part: Iterable[str], whole: Iterable[str]) -> bool:
    rest = iter(whole)
    return all(atom in rest for atom in part)
