"""Kinds of products and colours that are refused: 「不要首饰」, "no black". What they are made of is `avoidance`'s."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from offline_model.language.domains import names_of_products, product_words

_COLOURS = (
    *("黑色 black", "白色 white", "红色 red", "蓝色 blue", "绿色 green", "灰色 grey", "粉色 pink", "紫色 purple"),
    *("黄色 yellow", "棕色 brown", "米色 beige", "橙色 orange", "金色 gold", "银色 silver"),
)
_OTHER_NAME = {
    name: other for pair in map(str.split, _COLOURS) for name, other in ((pair[0], pair[1]), (pair[1], pair[0]))
}
_CHINESE = "|".join((*(name for name in _OTHER_NAME if not name.isascii()), *names_of_products(ascii_=False)))
_ENGLISH = "|".join((*(name for name in _OTHER_NAME if name.isascii()), *names_of_products(ascii_=True)))
_REFUSED = re.compile(
    rf"(?:不(?:想?要|喜欢)|别(?:要|给我))(?:任何|太)?(?P<zh>{_CHINESE})(?:的|类)?|"
    rf"\b(?:no|nothing|not|don't want|don't like)(?: any| in)? (?P<en>{_ENGLISH})(?:s|es)?\b(?! colou?r)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RefusedKind:
    """`words` are its name as the text has it, and in the other language."""

    words: tuple[str, ...]
    span: tuple[int, int]


def refused_kinds_in(text: str) -> list[RefusedKind]:
    return [RefusedKind(tuple(_names(found["zh"] or found["en"])), found.span()) for found in _REFUSED.finditer(text)]


def without_refused_kinds(text: str) -> str:
    return _REFUSED.sub(" ", text)


def _names(name: str) -> Iterator[str]:
    yield name
    if name.casefold() in _OTHER_NAME:
        yield _OTHER_NAME[name.casefold()]
    else:
        yield from (product.other for product in product_words(name)[:1])
