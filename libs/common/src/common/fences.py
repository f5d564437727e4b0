"""Fences: the tags that tell a model whose words it reads. Words from outside cannot close or open one."""

import re
from collections.abc import Callable, Iterable

_INVISIBLE = "[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"


def neutraliser(tags: Iterable[str]) -> Callable[[str], str]:
    """A function that makes every mark of these tags harmless: its `<` becomes a full-width one, the rest stays.

    A mark is recognised also where white space or invisible characters split it.
    """
    mark = re.compile(f"<(?={_INVISIBLE}/?{_INVISIBLE}(?:{'|'.join(tags)}))", re.IGNORECASE)
    return lambda text: mark.sub("＜", text)
