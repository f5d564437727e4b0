"""The catalogue's domains by the words that users have for their products, in Chinese and English.

Each product is a pair of names, so that a search can be tried once more in the other language's word.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class ProductWord:
    domain: str
    word: str
    """As the text has it."""
    other: str
    """The same product's name in the other language."""


def _by_name() -> dict[str, tuple[str, str]]:
    """Of a name that stands under two domains, the first one counts."""
    names: dict[str, tuple[str, str]] = {}
    domain = ""
    for line in files("offline_model.language").joinpath("product_words.txt").read_text(encoding="utf-8").splitlines():
        chinese, _, english = (part.strip() for part in line.partition("="))
        if english and not line.startswith("#"):
            names.setdefault(chinese.casefold(), (domain, english))
            names.setdefault(english, (domain, chinese))
        elif chinese and not chinese.startswith("#"):
            domain = chinese
    return names


_NAMES = _by_name()
_LONGEST_FIRST = sorted(_NAMES, key=lambda name: (-len(name), name))
_CHINESE = re.compile("|".join(re.escape(name) for name in _LONGEST_FIRST if not name.isascii()), re.IGNORECASE)
_ENGLISH = re.compile(
    rf"\b({'|'.join(re.escape(name) for name in _LONGEST_FIRST if name.isascii())})(?:s|es)?\b", re.IGNORECASE
)


def names_of_products(*, ascii_: bool) -> list[str]:
    """The English or the Chinese ones as regular expressions, longest first."""
    return [re.escape(name) for name in _LONGEST_FIRST if name.isascii() is ascii_]


def product_words(text: str) -> list[ProductWord]:
    """Every product named in a text, in order."""
    found = [(match.start(), match.group()) for match in _CHINESE.finditer(text)]
    found += [(match.start(), match.group(1)) for match in _ENGLISH.finditer(text)]
    return [ProductWord(_NAMES[word.casefold()][0], word, _NAMES[word.casefold()][1]) for _, word in sorted(found)]


def main_product(text: str) -> ProductWord | None:
    """The product a phrase is about: its last one, since both languages put the head of a noun phrase last."""
    words = product_words(text)
    return words[-1] if words else None


@cache
def one_product_of_each_domain() -> tuple[ProductWord, ...]:
    """The first product of each, with its Chinese name as the word, in the order of the list."""
    first: dict[str, ProductWord] = {}
    for name, (domain, other) in _NAMES.items():
        if not name.isascii():
            first.setdefault(domain, ProductWord(domain, name, other))
    return tuple(first.values())
