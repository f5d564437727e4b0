"""Fences: the tags that tell a model whose words it reads. Words from outside cannot close or open one."""

import re
from collections.abc import Callable, Iterable

_UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff"
_INVISIBLE = f"[\\s{_UNSEEN}]*"


def neutraliser(tags: Iterable[str]) -> Callable[[str], str]:
    """A function that makes every mark of these tags harmless: its `<` becomes a full-width one, the rest stays.

    A mark is recognised also where white space or invisible characters split it.
    """
    names = "|".join(f"[{_UNSEEN}]*".join(map(re.escape, tag)) for tag in tags)
    mark = re.compile(f"<(?={_INVISIBLE}/?{_INVISIBLE}(?:{names}))", re.IGNORECASE)
    return lambda text: mark.sub("＜", text)
