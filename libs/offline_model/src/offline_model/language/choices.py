"""Words that go back over what was shown: the user takes one of a list, or asks what it has come to."""

import re

_ORDINALS = {word: number for number, words in enumerate(("一1", "二两2", "三3", "四4", "五5")) for word in words}
_ENGLISH_ORDINALS = {word: number for number, word in enumerate(("first", "second", "third", "fourth", "fifth"))}
_CHOICE = re.compile(
    r"^(?:好[的，,]*)?(?:我)?(?:就)?(?:要|选|买|定|拿)(?:了)?第(?P<zh>[一二两三四五1-5])(?:个|款|件|条|号)|"
    r"\b(?:I'll take|I choose|I want|let's take|go with) (?:the )?(?:(?P<en>first|second|third|fourth|fifth)\b|"
    r"(?:number|option) (?P<number>[1-5]))",
    re.IGNORECASE,
)
_RECAP = re.compile(
    r"总结|汇总|列(?:一下|个)?清单|(?:一共|总共|都)(?:选|挑|看)(?:了|过)|"
    r"\b(?:summari[sz]e|sum up|recap|list everything|"
    r"what (?:have|did) (?:I|we) (?:chosen?|pick(?:ed)?))\b",
    re.IGNORECASE,
)


def chosen_position(words: str) -> int | None:
    """Which one of a list the user takes, counted from 0."""
    found = _CHOICE.search(words.strip())
    if found is None:
        return None
    if found["en"]:
        return _ENGLISH_ORDINALS[found["en"].lower()]
    return _ORDINALS[found["zh"] or found["number"]]


def asks_for_recap(words: str, queries: tuple[str, ...]) -> bool:
    """Not where something is to be found first: then the answer sums it up anyway."""
    return _RECAP.search(words) is not None and all(_RECAP.search(query) for query in queries)
