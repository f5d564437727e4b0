"""Names of materials and allergens in both languages."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

Language = Literal["zh", "en"]


class Term(NamedTuple):
    zh: str
    en: str
    also: tuple[str, ...] = ()
    """Synonyms and the wider kinds it belongs to: an almond is also 坚果 and a nut."""

    def name(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en

    def words(self) -> Iterator[str]:
        """Every word by which someone may ask for it or rule it out."""
        yield self.zh
        yield self.en
        yield from self.also


def term(zh: str, en: str, *also: str) -> Term:
    return Term(zh, en, also)
