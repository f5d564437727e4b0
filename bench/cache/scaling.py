"""SCALE: the same conversations with shorter texts, for engines that are slow on long ones.

Each text is cut by itself and in the same way wherever it stands, so requests that extend each other still do.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from bench.cache.calls import Call, text_of

from model_client.exact_json import exact_json

_SHORTEST = 24
"""Characters that always stay, so that different texts stay different."""


def scaled(calls: Sequence[Call], scale: float) -> list[Call]:
    if scale >= 1:
        return list(calls)

    @cache
    def message(text: str) -> str:
        fields = json.loads(text)
        return exact_json({**fields, "content": _cut(text_of(fields), scale)}) if fields.get("content") else text

    @cache
    def tools(text: str) -> str:
        return exact_json(_with_short_descriptions(json.loads(text), scale))

    return [
        replace(
            call,
            messages=tuple(message(text) for text in call.messages),
            tools=None if call.tools is None else tools(call.tools),
            answer=None if call.answer is None else message(call.answer),
        )
        for call in calls
    ]


def _cut(text: str, scale: float) -> str:
    return text[: max(_SHORTEST, math.ceil(len(text) * scale))]


def _with_short_descriptions(schema: Any, scale: float) -> Any:
    if isinstance(schema, list):
        return [_with_short_descriptions(each, scale) for each in schema]
    if isinstance(schema, dict):
        return {
            name: _cut(value, scale)
            if name == "description" and isinstance(value, str)
            else _with_short_descriptions(value, scale)
            for name, value in schema.items()
        }
    return schema
