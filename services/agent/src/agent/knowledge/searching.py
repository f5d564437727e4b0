"""Finds the sections that answer a question, by the words they share with it. Pure: same question, same answer."""

import math
from collections import Counter
from collections.abc import Sequence

from agent.catalogue.searchable import terms
from agent.knowledge.guides import Section
from common.text import normalise

SECTIONS_MAX = 3
_HEADING_WEIGHT = 2.0
_FLOOR = 0.25
"""A section that scores below this share of the best one is no answer beside it."""
_ASKING = frozenset(
    (
        "are",
        "can",
        "do",
        "does",
        "have",
        "how",
        "i",
        "me",
        "my",
        "need",
        "should",
        "what",
        "when",
        "where",
        "which",
        "who",
        "will",
        "with",
        "you",
    )
)
"""Words by which one asks; they say nothing about what."""


class GuideIndex:
    """A word counts for more the fewer sections have it, and twice in a heading."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self._sections = [
            (section, _terms(f"{section.guide} {section.heading}"), _terms(section.text)) for section in sections
        ]
        counted = Counter(term for _, heading, text in self._sections for term in heading | text)
        self._rarity = {term: math.log(1 + len(sections) / count) for term, count in counted.items()}

    def find(self, question: str) -> list[Section]:
        """The best sections, best first; none where no word is shared."""
        asked = _terms(question)
        scored = [(self._score(asked, heading, text), section) for section, heading, text in self._sections]
        best = max((score for score, _ in scored), default=0.0)
        found = [(score, section) for score, section in scored if score > 0 and score >= best * _FLOOR]
        found.sort(key=lambda one: (-one[0], one[1].section_id))
        return [section for _, section in found[:SECTIONS_MAX]]

    def _score(self, asked: frozenset[str], heading: frozenset[str], text: frozenset[str]) -> float:
        return sum(
            self._rarity.get(term, 0.0) * (_HEADING_WEIGHT * (term in heading) + (term in text)) for term in asked
        )


def _terms(text: str) -> frozenset[str]:
    return frozenset(_stem(term) for term in terms(normalise(text)) if term not in _ASKING)


def _stem(term: str) -> str:
    return term[:-3] if len(term) > 5 and term.endswith("ing") else term
