"""A proposed value must rest on the user's own words of that turn (design section 7)."""

from common.text import normalise
from memory.facts.similarity import bigrams

_SHARE_OF_WORDS = 0.5
_SHARE_OF_QUOTE = 0.2


def supported(value: str, quote: str | None, user_text: str) -> bool:
    """Whether the words carry the value: they hold half of its bigrams, or the quote it was said to rest on and
    that quote a fifth of them. A true quote alone carries nothing: it may be about something else.

    A value that the words do not carry is not lost; it becomes a candidate that waits for the user's word.
    """
    words = normalise(user_text)
    quoted = normalise(quote or "")
    wanted = bigrams(normalise(value))
    if quoted and quoted in words and _share(wanted, quoted) >= _SHARE_OF_QUOTE:
        return True
    return _share(wanted, words) >= _SHARE_OF_WORDS


def _share(wanted: frozenset[str], text: str) -> float:
    return len(wanted & bigrams(text)) / len(wanted)
