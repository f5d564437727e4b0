"""Whether the fields of a JSON object are as a matcher wants them."""

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from tests.support.scenarios.expectation import Matcher

MISSING = object()
"""What a path that leads nowhere has."""


def faults_of_fields(wanted: Matcher, fields: Mapping[str, Any]) -> list[str]:
    return [*_faults_of_values(wanted, fields), *_faults_of_words(wanted, fields), *_faults_of_amounts(wanted, fields)]


def _faults_of_values(wanted: Matcher, fields: Mapping[str, Any]) -> Iterator[str]:
    for path, value in wanted.equals.items():
        found = value_at(fields, path)
        if found is MISSING or not _same(found, value):
            yield f"{path} is {_shown(found)}, not {_shown(value)}"
    for path in wanted.absent:
        if _is_there(value_at(fields, path)):
            yield f"{path} is there: {_shown(value_at(fields, path))}"
    for path in wanted.present:
        if not _is_there(value_at(fields, path)):
            yield f"{path} is not there"


def _faults_of_words(wanted: Matcher, fields: Mapping[str, Any]) -> Iterator[str]:
    for path, groups in wanted.has.items():
        texts = _texts(value_at(fields, path))
        for group in groups:
            words = (group,) if isinstance(group, str) else group
            if not any(word.casefold() in text for word in words for text in texts):
                yield f"{path} has none of {list(words)}: {_shown(value_at(fields, path))}"
    for path, unwanted in wanted.lacks.items():
        texts = _texts(value_at(fields, path))
        yield from (f"{path} has {word}" for word in unwanted if any(word.casefold() in text for text in texts))


def _faults_of_amounts(wanted: Matcher, fields: Mapping[str, Any]) -> Iterator[str]:
    for path, most in wanted.at_most.items():
        amount = number_in(value_at(fields, path))
        if amount is None or amount > most:
            yield f"{path} is {_shown(value_at(fields, path))}, not at most {most}"
    for path, least in wanted.at_least.items():
        amount = number_in(value_at(fields, path))
        if amount is None or amount < least:
            yield f"{path} is {_shown(value_at(fields, path))}, not at least {least}"


def value_at(fields: Mapping[str, Any], path: str) -> Any:
    """The value at a path like `lines.0.amount`; `MISSING` where it leads nowhere."""
    value: Any = fields
    for name in path.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return MISSING
    return value


def _same(found: Any, wanted: Any) -> bool:
    """Amounts may be written as text, and 500 is 500.00."""
    if found == wanted:
        return True
    numbers = isinstance(wanted, int | float) and not isinstance(wanted, bool)
    return numbers and number_in(found) == number_in(wanted)


def _is_there(value: Any) -> bool:
    return value is not MISSING and value not in (None, "", [], {})


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [_text(each).casefold() for each in values if each is not MISSING and each is not None]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number_in(value: Any) -> Decimal | None:
    """The amount, also where it is written as text; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _shown(value: Any) -> str:
    return "missing" if value is MISSING else json.dumps(value, ensure_ascii=False, default=str)[:200]
