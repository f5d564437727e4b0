"""Finding facts by a part of them: substrings, since Chinese is not split at spaces. Pure."""

from collections.abc import Sequence

from common.memory_api.facts import Fact
from common.text import normalise


def match_facts(facts: Sequence[Fact], topic: str, limit: int | None = None) -> list[Fact]:
    """Facts whose key or value contains the topic, in their order; an empty topic matches all."""
    wanted = normalise(topic)
    return [fact for fact in facts if wanted in normalise(fact.value) or wanted in _said(fact.key)][:limit]


def _said(key: str) -> str:
    """The key with and without its underscores: `shoe_size` is found as it is stored and as it is said."""
    return f"{normalise(key)}\n{normalise(key.replace('_', ' '))}"
