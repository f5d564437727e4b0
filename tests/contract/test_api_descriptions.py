"""The descriptions under docs/api are what the code says; `make contracts` writes them anew."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from common.streams.asyncapi import asyncapi
from gateway.app import gateway_openapi
from memory.openapi import memory_openapi

DESCRIPTIONS = Path(__file__).parent.parent.parent / "docs" / "api"

_OF_FILE: dict[str, Callable[[], dict[str, Any]]] = {
    "gateway.openapi.json": gateway_openapi,
    "memory.openapi.json": memory_openapi,
    "events.asyncapi.json": asyncapi,
}


@pytest.mark.parametrize("name", sorted(_OF_FILE))
def test_the_committed_description_is_the_current_one(name: str) -> None:
    committed = json.loads((DESCRIPTIONS / name).read_text(encoding="utf-8"))
    assert _OF_FILE[name]() == committed, "the interface has changed: run `make contracts` and commit docs/api"


@pytest.mark.parametrize("name", sorted(_OF_FILE))
def test_every_reference_of_a_description_leads_somewhere(name: str) -> None:
    document = json.loads((DESCRIPTIONS / name).read_text(encoding="utf-8"))

    def references(value: Any) -> list[str]:
        if isinstance(value, list):
            return [each for item in value for each in references(item)]
        if not isinstance(value, dict):
            return []
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [each for item in value.values() for each in references(item)]

    found = references(document)
    assert found
    for reference in found:
        target = document
        for part in reference.removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]


def test_the_internal_description_has_every_operation_and_who_may_call_it() -> None:
    paths = memory_openapi()["paths"]
    assert paths["/internal/v1/turns/claim"]["post"]["x-callers"] == ["agent", "operator"]
    assert paths["/internal/v1/curations/ingest"]["post"]["x-callers"] == ["curator", "operator"]
