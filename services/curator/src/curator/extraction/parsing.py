"""Reads proposed facts out of the model's answer.

Models wrap JSON in fences and thinking, and answer a list where an object was asked for. What can be read is read;
what cannot, or was cut off, is an error and never "no facts": a lost fact would look like one nobody said.
"""

import json
import re
from typing import Any

from pydantic import ValidationError

from common.memory_api.facts import MAX_NEW_FACTS, MemoryCategory, ProposedFact
from model_client.exact_json import well_formed_json

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THINKING = re.compile(r"<(think|thinking|reasoning)>", re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
_FIELDS = ("key", "value", "category", "evidence")


class UnreadableFacts(Exception):
    """The answer is not what was asked for. The message names what is wrong, never what was said."""


def parse_facts(answer: str, finish_reason: str) -> list[ProposedFact]:
    """The first MAX_NEW_FACTS proposed facts, as the model wrote them. Raises UnreadableFacts."""
    if finish_reason == "length":
        raise UnreadableFacts("truncated")
    proposed = _list_of_facts(_json_value(_THINKING.sub("", answer)))
    return [_fact(each) for each in proposed[:MAX_NEW_FACTS]]


def _json_value(text: str) -> Any:
    """The one JSON value in the text; words around it are passed over."""
    if _OPEN_THINKING.search(text):
        raise UnreadableFacts("thinking without an end")
    fenced = _FENCE.search(text)
    candidate = (fenced.group(1) if fenced else text).strip()
    starts = [position for position in (candidate.find("{"), candidate.find("[")) if position >= 0]
    if not starts:
        raise UnreadableFacts("no JSON")
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(candidate, min(starts))
    except (ValueError, RecursionError) as error:
        raise UnreadableFacts("JSON that does not parse") from error
    return value


def _list_of_facts(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        if isinstance(value.get("facts"), list):
            return list(value["facts"])
        if "key" in value and "value" in value:
            return [value]
    raise UnreadableFacts("no list of facts")


def _fact(value: Any) -> ProposedFact:
    """A fact as it was proposed. Whether it is good is for memory's gate to say, so little is checked here."""
    if not isinstance(value, dict):
        raise UnreadableFacts("a fact that is no object")
    told = {name: value[name] for name in _FIELDS if value.get(name) is not None}
    told.setdefault("category", MemoryCategory.PREFERENCE)
    try:
        return ProposedFact.model_validate(well_formed_json(told))
    except (ValidationError, RecursionError) as error:
        raise UnreadableFacts("a fact with wrong fields") from error
