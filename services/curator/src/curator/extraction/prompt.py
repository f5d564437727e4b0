"""The curator's request: its own prefix, the same for everybody, then one message about the turn.

The prefix is longer than the shortest that providers cache (1,024 tokens), so every curation after the first is cheap.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from common.fences import neutraliser
from common.memory_api.facts import MAX_NEW_FACTS, Fact, MemoryCategory
from model_client.exact_json import exact_json
from model_client.requests import ModelRequest

_TAGS = ("known_facts", "user_words", "final_reply")
_neutralise = neutraliser(_TAGS)

_ROOM = 1_024
"""Tokens of an answer. Three facts take about 300; the rest is for models that say more than they should."""

_REPAIR = '上一个答复读不出来（{fault}）。只输出一个 JSON 对象，形状是 {{"facts":[…]}}，不要解释，不要代码围栏。'

RESPONSE_FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "curated_facts",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {
                "facts": {
                    "type": "array",
                    "maxItems": MAX_NEW_FACTS,
                    "items": {
                        "type": "object",
                        "properties": {
                            "key": {"type": "string"},
                            "value": {"type": "string"},
                            "category": {"type": "string", "enum": [category.value for category in MemoryCategory]},
                            "evidence": {"type": "string"},
                        },
                        "required": ["key", "value", "category", "evidence"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["facts"],
            "additionalProperties": False,
        },
    },
}


def instructions() -> str:
    return files("curator.extraction").joinpath("instructions.md").read_text(encoding="utf-8")


def extraction_request(model: str, user_text: str, reply: str, facts: Sequence[Fact]) -> ModelRequest:
    """Nothing but the user's words, the final reply and the known facts: no tool results, no session state."""
    return ModelRequest(
        model=model,
        messages=(
            exact_json({"role": "system", "content": instructions()}),
            exact_json({"role": "user", "content": turn_message(user_text, reply, facts)}),
        ),
        options={"response_format": RESPONSE_FORMAT, "temperature": 0},
        thinking=False,  # some providers refuse a format while they think
        max_tokens=_ROOM,
    )


def repair_request(request: ModelRequest, answer: str, fault: str) -> ModelRequest:
    """The same request, the answer that could not be read, and what was wrong with it."""
    corrections = (
        exact_json({"role": "assistant", "content": answer}),
        exact_json({"role": "user", "content": f"<repair_request>\n{_REPAIR.format(fault=fault)}\n</repair_request>"}),
    )
    return replace(request, messages=(*request.messages, *corrections))


def turn_message(user_text: str, reply: str, facts: Sequence[Fact]) -> str:
    known = "\n".join(_line(fact) for fact in sorted(facts, key=lambda fact: fact.key)) or "none"
    blocks = zip(_TAGS, (known, _neutralise(user_text), _neutralise(reply)), strict=True)
    return "\n".join(f"<{tag}>\n{content}\n</{tag}>" for tag, content in blocks)


def _line(fact: Fact) -> str:
    return _neutralise(f"- [{fact.category.value}] {fact.key}: {' '.join(fact.value.split())}")
