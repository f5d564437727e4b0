"""A key names its subject and carries no value: `shoe_size`, and not `shoe_size_42`."""

import re

from common.memory_api.facts import KEY_MAX
from memory.facts.wording.persons import SELF, may_be_same, person_in_key, subject_of

_COLOURS = "black white red blue green yellow grey gray pink purple brown orange beige navy gold silver"
_COUNTRIES = (
    "germany german france french japan japanese china chinese usa us america american uk britain british england "
    "italy italian "
    "spain spanish canada canadian australia korea korean russia russian brazil mexico netherlands belgium "
    "austria switzerland "
    "poland sweden norway denmark finland portugal ireland india singapore malaysia thailand vietnam taiwan hongkong"
)
_ANSWERS = "yes no true false ok okay none xs xl xxl xxxl small medium large"
_VALUES = frozenset(f"{_COLOURS} {_COUNTRIES} {_ANSWERS}".split())
_EMPTY_WORDS = (
    "like likes love loves prefer prefers preferred preference hate hates dislike dislikes want wants is has the "
    "my user users favorite favourite "
    "to of in a value fact note_"
)
_SAYS_NOTHING = frozenset(_EMPTY_WORDS.split())
_HAS_DIGIT = re.compile(r"\d")


def subject_key(key: str, value: str) -> str | None:
    """The key without the value in it, and with the person it is about; None where no subject is left."""
    kept = [word for word in key.split("_") if word and not _is_value(word, value)]
    if not [word for word in kept if word not in _SAYS_NOTHING]:
        return None
    subject = subject_of("_".join(kept), value)
    in_key = person_in_key("_".join(kept))
    if subject != SELF and (in_key is None or not may_be_same(in_key, subject)):
        kept = [subject, *(word for word in kept if person_in_key(word) is None)]
    named = "_".join(kept)
    return named if len(named) <= KEY_MAX else None


def _is_value(word: str, value: str) -> bool:
    return _HAS_DIGIT.search(word) is not None or word in _VALUES or (not word.isascii() and word in value.lower())
