"""The words of a turn, as evidence is looked for in them. Long messages are taken apart only where it matters."""

import re
from collections.abc import Iterator
from functools import cached_property

from common.text import normalise
from memory.facts.evidence import signs
from memory.facts.evidence.passages import Origin, passages_of
from memory.facts.evidence.statements import Fault, Sentence, Statement, foreign_statement
from memory.facts.wording.content import might_hold

_SENTENCE = re.compile(r"[^。！!？?\n；;…]+(?:[。！!？?；;…]+|\n|$)")
_FULL_STOP = re.compile(r"(?<=[a-z\d])\.(?=\s|$)")
_FAULTS = {Origin.PASTED: Fault.PASTED, Origin.QUOTED: Fault.QUOTED}


class UserWords:
    def __init__(self, message: str) -> None:
        self._message = message

    def statements_with(self, units: frozenset[str]) -> Iterator[Statement]:
        """The statements that can hold any of these units of content, own ones first."""
        may_hold = might_hold(units)
        for sentence in self._sentences:
            if may_hold(sentence.text):
                yield from sentence.statements
        for text, fault in self._foreign:
            if may_hold(text):
                yield foreign_statement(text, fault)

    @cached_property
    def _passages(self) -> list[tuple[str, Origin]]:
        return [(passage.text, passage.origin) for passage in passages_of(self._message)]

    @cached_property
    def _foreign(self) -> list[tuple[str, Fault]]:
        return [(normalise(text), _FAULTS[origin]) for text, origin in self._passages if origin in _FAULTS]

    @cached_property
    def _sentences(self) -> list[Sentence]:
        """The user's own sentences. From the one that opens a role or a story on, all belong to it."""
        pretended = signs.JOKES.search(normalise(self._message)) is not None
        own = [list(_split(text)) for text, origin in self._passages if origin is Origin.OWN]
        coming = [words for passage in own for words in passage][1:]
        found: list[Sentence] = []
        for passage in own:
            before: Sentence | None = None
            for words in passage:
                pretended = pretended or signs.PRETENDS.search(words) is not None
                after = coming[len(found)] if len(found) < len(coming) else ""
                before = Sentence(words, before, after, pretended)
                found.append(before)
        return found


def _split(text: str) -> Iterator[str]:
    for found in _SENTENCE.finditer(_FULL_STOP.sub("。", text.lower().replace("’", "'"))):
        if sentence := normalise(found.group()):
            yield sentence
