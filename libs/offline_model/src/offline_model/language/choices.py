"""Words that go back over what was shown: the user takes one of a list, or asks what it has come to."""

import re

from offline_model.language.references import places_in

_CHOICE = re.compile(
    r"^(?:好[的，,]*)?(?:我)?(?:就)?(?:要|选|定|拿)(?:了)?第[一二两三四五1-5](?:个|款|件|条|号)|"
    r"\b(?:I'll take|I choose|I want|let's take|go with) (?:the )?(?:(?:first|second|third|fourth|fifth)\b|"
    r"(?:number|option) [1-5])",
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
    return None if found is None else places_in(found.group())[0]


def asks_for_recap(words: str, queries: tuple[str, ...]) -> bool:
    """Not where something is to be found first: then the answer sums it up anyway."""
    return _RECAP.search(words) is not None and all(_RECAP.search(query) for query in queries)
