"""Strategies in files, found by the user's words. L2: they stand with the turn they are for and nowhere else."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from agent.context.fences import neutralise
from agent.context.markdown import InvalidMarkdown, read_document
from common.memory_api.sessions import LogEntry
from common.memory_api.turns import ClaimedTurn
from common.text import normalise

MAX_PER_TURN = 2

_HEADING = "以下打法仅本轮有效；与用户的原话、长期记忆或硬性约束冲突时，以后者为准。"


@dataclass(frozen=True)
class Strategy:
    """`triggers` are words of which one in the user's message is enough, folded for comparison."""

    name: str
    triggers: tuple[str, ...]
    body: str


class Strategies:
    """A source of L2 blocks."""

    def __init__(self, strategies: Iterable[Strategy]) -> None:
        self._strategies = tuple(sorted(strategies, key=lambda strategy: strategy.name))

    def __iter__(self) -> Iterator[Strategy]:
        return iter(self._strategies)

    def block(self, claimed: ClaimedTurn, log: Sequence[LogEntry]) -> str | None:
        matched = self.matching(claimed.text)
        if not matched:
            return None
        blocks = [f"## {strategy.name}\n{neutralise(strategy.body)}" for strategy in matched]
        return "\n".join(["<strategies>", _HEADING, *blocks, "</strategies>"])

    def matching(self, words: str) -> list[Strategy]:
        """At most two: those with the longest trigger in the words, since it says most; ties by name."""
        folded = normalise(words)
        lengths = {
            strategy.name: max(
                (len(trigger) for trigger in strategy.triggers if _stands_in(trigger, folded)), default=0
            )
            for strategy in self._strategies
        }
        matched = [strategy for strategy in self._strategies if lengths[strategy.name]]
        return sorted(matched, key=lambda strategy: (-lengths[strategy.name], strategy.name))[:MAX_PER_TURN]


def _stands_in(trigger: str, words: str) -> bool:
    """Latin letters count from the beginning of a word (`gift` in `gifts`, `size` not in `emphasize`); Chinese has no
    words to begin."""
    before = "(?<![a-z0-9])" if trigger.isascii() else ""
    return re.search(before + re.escape(trigger), words) is not None


def read_strategy(text: str, name: str) -> Strategy:
    """Raises InvalidMarkdown."""
    document = read_document(text)
    triggers = document.fields.get("triggers")
    if not isinstance(triggers, list) or not triggers or not all(isinstance(trigger, str) for trigger in triggers):
        raise InvalidMarkdown("it has no list of triggers")
    folded = tuple(normalise(trigger) for trigger in triggers)
    if not all(folded):
        raise InvalidMarkdown("one of its triggers is blank")
    if not document.body:
        raise InvalidMarkdown("it has no body")
    return Strategy(name, folded, document.body)


@cache
def builtin_strategies() -> Strategies:
    """The strategies of this release. Raises ValueError where a file cannot be used."""
    found = []
    for file in files("agent.strategies").joinpath("builtin").iterdir():
        if file.name.endswith(".md"):
            name = file.name.removesuffix(".md")
            try:
                found.append(read_strategy(file.read_text(encoding="utf-8"), name))
            except InvalidMarkdown as error:
                raise ValueError(f"strategy {name}: {error}") from error
    return Strategies(found)
