"""A proposed value must rest on the user's own words of that turn (design section 7)."""

from common.text import normalise
from memory.facts.similarity import bigrams

_SUPPORTING_SHARE = 0.5
_SHORTEST_QUOTE = 2


def supported(value: str, quote: str | None, user_text: str) -> bool:
    """Whether the words carry the value: they contain the quote it was said to rest on, or half of its bigrams.

    A value that they do not carry is not lost; it becomes a candidate that waits for the user's word.
    """
    words = normalise(user_text)
    quoted = normalise(quote or "")
    if len(quoted) >= _SHORTEST_QUOTE and quoted in words:
        return True
    wanted = bigrams(normalise(value))
    return len(wanted & bigrams(words)) / len(wanted) >= _SUPPORTING_SHARE
