"""A line taken apart for comparing it with others; every part is found once, and only when it is asked for."""

from dataclasses import dataclass
from functools import cached_property

from common.text import normalise
from memory.facts.wording.antonyms import Sides, masked
from memory.facts.wording.attitude import is_against, without_attitude
from memory.facts.wording.content import content_parts, content_words, folded, units
from memory.facts.wording.persons import mentions_in, without_persons
from memory.facts.wording.quantities import Quantity, quantities_in, without_quantities


@dataclass(frozen=True)
class Line:
    text: str

    @cached_property
    def normalised(self) -> str:
        return normalise(self.text)

    @cached_property
    def folded(self) -> str:
        return folded(self.text)

    @cached_property
    def persons(self) -> frozenset[str]:
        return frozenset(mention.person for mention in mentions_in(self.folded))

    @cached_property
    def against(self) -> bool:
        return is_against(self.folded)

    @cached_property
    def quantities(self) -> frozenset[Quantity]:
        return quantities_in(self.folded)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """Its content as the parts of a list, sorted."""
        return content_parts(self.folded)

    @cached_property
    def words(self) -> list[str]:
        """Its content in order: stretches of Chinese, stems of English words."""
        return content_words(self.folded)

    @cached_property
    def atoms(self) -> list[str]:
        """Its content in order: Chinese by character, anything else by word."""
        return [atom for word in self.words for atom in (word if "㐀" <= word[0] <= "鿿" else (word,))]

    @cached_property
    def bigrams(self) -> frozenset[str]:
        return bigrams(self.normalised)

    @cached_property
    def objects(self) -> frozenset[str]:
        """The units of what is spoken of, without who speaks and whether for or against."""
        return _objects(self.folded)

    @cached_property
    def uncounted_objects(self) -> frozenset[str]:
        return _objects(without_quantities(self.folded))

    @cached_property
    def sides(self) -> Sides:
        """Of which pairs of opposites it names which."""
        return self._masked[1]

    @cached_property
    def objects_without_sides(self) -> frozenset[str]:
        return _objects(self._masked[0])

    @cached_property
    def _masked(self) -> tuple[str, Sides]:
        return masked(self.folded)


def bigrams(text: str) -> frozenset[str]:
    """Character bigrams without white space; a single character is its own."""
    packed = "".join(text.split())
    if len(packed) < 2:
        return frozenset({packed})
    return frozenset(packed[at : at + 2] for at in range(len(packed) - 1))


def _objects(text: str) -> frozenset[str]:
    return units(content_words(without_attitude(without_persons(text))) or content_words(without_attitude(text)))
