"""Reads proposed facts out of the model's answer.

Models wrap JSON in fences, thinking and prose, answer a list where an object was asked for, and one object where a list
was. What can be read is read; what cannot, or was cut off, is an error and never "no facts": a lost fact would look
like one nobody said.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from common.memory_api.facts import MAX_NEW_FACTS, MemoryCategory, ProposedFact
from model_client.exact_json import well_formed_json

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_CLOSED_THINKING = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_OPEN_THINKING = re.compile(r"<(?:think|thinking|reasoning)>", re.IGNORECASE)
_FIELDS = ("key", "value", "category", "evidence")
_MOST_STARTS = 200
"""Places where a JSON value is looked for; an answer of nothing but brackets must not take for ever."""


class UnreadableFacts(Exception):
    """The answer is not what was asked for. The message names what is wrong, never what was said."""


class TruncatedFacts(UnreadableFacts):
    """The answer was cut off at the length limit; with more room it may be whole."""

    def __init__(self) -> None:
        super().__init__("truncated")


def parse_facts(answer: str, *, truncated: bool = False) -> list[ProposedFact]:
    """The first MAX_NEW_FACTS proposed facts, as the model wrote them. Raises UnreadableFacts."""
    if truncated:
        raise TruncatedFacts
    proposed = _list_of_facts(list(_json_values(_without_thinking(answer))))
    return [_fact(each) for each in proposed[:MAX_NEW_FACTS]]


def _without_thinking(answer: str) -> str:
    """Templates may swallow the opening mark, so what stands before a closing one is thinking too."""
    text = _CLOSED_THINKING.sub("", _THINKING.sub("", answer))
    if _OPEN_THINKING.search(text):
        raise UnreadableFacts("thinking without an end")
    return text


def _json_values(text: str) -> Iterator[Any]:
    """Every outermost JSON object or list of the text, in order; fences and words around them are passed over."""
    decoder = json.JSONDecoder(strict=False)
    position = 0
    for _ in range(_MOST_STARTS):
        start = min((at for at in (text.find("{", position), text.find("[", position)) if at >= 0), default=-1)
        if start < 0:
            return
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        if isinstance(value, dict | list):
            yield value


def _list_of_facts(values: list[Any]) -> list[Any]:
    """The facts of the first value that is a list of them; or facts that stand one after another."""
    if not values:
        raise UnreadableFacts("no JSON")
    listed = [facts for facts in map(_facts_in, values) if facts is not None]
    if listed:
        return listed[0]
    single = [value for value in values if _is_fact(value)]
    if single:
        return single
    raise UnreadableFacts("no list of facts")


def _facts_in(value: Any) -> list[Any] | None:
    """`{"facts": […]}`, also inside one more object; `[…]`; `{"facts": {…}}`."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or _is_fact(value):
        return None
    if "facts" in value:
        facts = value["facts"]
        return facts if isinstance(facts, list) else [facts] if _is_fact(facts) else None
    inner = [each for each in value.values() if isinstance(each, dict) and "facts" in each]
    return _facts_in(inner[0]) if len(inner) == 1 else None


def _is_fact(value: Any) -> bool:
    return isinstance(value, dict) and "key" in value and "value" in value


def _fact(value: Any) -> ProposedFact:
    """A fact as it was proposed. Whether it is good is for memory's gate to say, so little is checked here."""
    if not isinstance(value, dict):
        raise UnreadableFacts("a fact that is no object")
    told = {name: _as_text(value[name]) for name in _FIELDS if value.get(name) is not None}
    told.setdefault("category", MemoryCategory.PREFERENCE)
    try:
        return ProposedFact.model_validate(well_formed_json(told))
    except (ValidationError, RecursionError) as error:
        raise UnreadableFacts("a fact with wrong fields") from error


def _as_text(value: Any) -> Any:
    """42 for "42" is a slip; several quotes are one piece of evidence."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return " … ".join(value)
    return value
