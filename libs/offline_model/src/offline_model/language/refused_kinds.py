"""Kinds of products and colours that are refused: 「不要首饰」, "no black". What they are made of is `avoidance`'s.

Only plain forms are read: a refusing word, then whole names. A name that goes on (「首饰盒」, "gold plated", "shoes
with laces") is another thing, and so refuses nothing here.
"""

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


def _any_of(names: list[str]) -> str:
    return f"(?:{'|'.join(names)})"


def _one_or_more(kind: str, joined_by: str) -> str:
    return f"(?P<kinds>{kind}(?:{joined_by}{kind})*)"


_COLOUR_CHINESE = _any_of([name for name in _OTHER_NAME if not name.isascii()])
_COLOUR_ENGLISH = _any_of([name for name in _OTHER_NAME if name.isascii()])
_PRODUCT_CHINESE = _any_of(names_of_products(ascii_=False))
_PRODUCT_ENGLISH = _any_of(names_of_products(ascii_=True)) + "(?:s|es)?"
_NAME_CHINESE = rf"(?:{_COLOUR_CHINESE}|{_PRODUCT_CHINESE})"
_NAME_ENGLISH = rf"(?:{_COLOUR_ENGLISH}(?:s|es)?|{_PRODUCT_ENGLISH})"

# Of 「黑色背包」 the colour is what is refused.
_END_CHINESE = r"(?=$|\W|[类了吧啊呀啦哦呢和或与跟及也但而就还只换要请不别]|以及|可以|谢谢|那种|因为|[系款](?=$|\W|的))"
_KIND_CHINESE = rf"(?:{_COLOUR_CHINESE}的?(?={_PRODUCT_CHINESE}|包(?!装))|{_NAME_CHINESE}(?:类?的|{_END_CHINESE}))"
_END_ENGLISH = (
    r"(?=\s*(?:$|[^\w\s'’-])|\s+(?:-|(?:and|or|nor|but|so|because|please|thanks?|ones?|any ?more|either|at all|again|"
    r"instead|this time|very much|for (?:me|us|him|her|them))\b))"
)
_KIND_ENGLISH = rf"(?:{_COLOUR_ENGLISH}(?= (?:{_PRODUCT_ENGLISH}|bags?){_END_ENGLISH})|{_NAME_ENGLISH}{_END_ENGLISH})"

_REFUSED_CHINESE = re.compile(
    r"(?P<denied>(?:不是|并非|(?<!有)没有?)[我说想]*|(?<![想需])要|想|喜欢?)?"
    r"(?:不(?:想?要|喜欢)|别(?:要|给我))(?:任何|太)?"
    rf"{_one_or_more(_KIND_CHINESE, '(?:和|或者?|与|跟|以及|及|、)')}(?:[类系款]|那种)?的?了?[吧啊呀啦哦呢]?",
    re.IGNORECASE,
)
"""Denied where it is no refusal: 「不是不要黑色」, 「要不要黑色」."""
_REFUSED_ENGLISH = re.compile(
    r"(?P<denied>(?:(?<!must )(?<!should )\b(?:ha(?:ve|s|d)|got)|'ve|\bthere(?:'s| is| are| was| were)|"
    r"\bnot that (?:I|we))\s+)?"
    r"\b(?:no|nothing|not|don't want|don't like)(?: any| in)? "
    rf"{_one_or_more(_KIND_ENGLISH, ' (?:and|or|nor) ')}(?: ones?\b)?(?: any ?more\b| either\b| at all\b)?",
    re.IGNORECASE,
)
"""Denied where it tells what is lacking ("I have no shoes") or that nothing is refused."""
_NAMES_ENGLISH = re.compile(
    rf"\b(?P<name>{_COLOUR_ENGLISH}|{_any_of(names_of_products(ascii_=True))})(?:s|es)?\b", re.IGNORECASE
)
_NAMES_CHINESE = re.compile(f"(?P<name>{_NAME_CHINESE})", re.IGNORECASE)


@dataclass(frozen=True)
class RefusedKind:
    """`words` are its name as the text has it, and in the other language."""

    words: tuple[str, ...]
    span: tuple[int, int]
    """Of the whole refusal, which may be of several kinds."""

    def is_named_in(self, query: str) -> bool:
        return any(re.search(_whole(word), query, re.IGNORECASE) for word in self.words)


def refused_kinds_in(text: str) -> list[RefusedKind]:
    return [
        RefusedKind(tuple(_names(found["name"])), refusal.span())
        for pattern, names in ((_REFUSED_CHINESE, _NAMES_CHINESE), (_REFUSED_ENGLISH, _NAMES_ENGLISH))
        for refusal in pattern.finditer(text)
        if not refusal["denied"]
        for found in names.finditer(refusal["kinds"])
    ]


def without_refused_kinds(text: str) -> str:
    characters = list(text)
    for kind in refused_kinds_in(text):
        start, end = kind.span
        characters[start:end] = " " * (end - start)
    return "".join(characters)


def _whole(word: str) -> str:
    """Chinese has no gaps between words, so 茶 is named in 茶杯; "red" is not named in "shredder"."""
    return rf"\b{re.escape(word)}(?:s|es)?\b" if word.isascii() else re.escape(word)


def _names(name: str) -> Iterator[str]:
    yield name
    if name.casefold() in _OTHER_NAME:
        yield _OTHER_NAME[name.casefold()]
    else:
        yield from (product.other for product in product_words(name)[:1])
