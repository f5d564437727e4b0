"""The item tools over the real catalogue's filters: what the session said counts by mechanism, and is explained."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from tests.unit.agent.memory_in_process import MemoryInProcess

from agent.catalogue.catalogue import IndexedCatalogue
from agent.catalogue.embeddings import EmbeddingKind, FloatArray
from agent.catalogue.local_index import LocalIndex
from agent.catalogue.products import load_products
from agent.context.memory_block import RememberedConstraint
from agent.session_constraints.constraints import SessionConstraints
from agent.session_constraints.destination import DestinationCountry, DestinationLayer
from agent.skills.catalogue import builtin_skills
from agent.tools.registry import build_tools
from agent.tools.runner import ToolRunner
from agent.tools.tool import ToolContext, ToolResult
from common.clock import SystemClock
from common.memory_api.sessions import Layer, LogEntry
from common.memory_api.user_data import UserSettings
from common.telemetry.metrics import Metrics
from common.telemetry.table import AGENT
from model_client.answers import ToolCall
from model_client.exact_json import exact_json

SNACKS = [product for product in load_products() if product.domain == "snacks_food"]
NUT_ALLERGY = RememberedConstraint("nut_allergy", "对坚果过敏")


class SameVector:
    """All texts lie in one direction, so that words alone decide. `meeting` waits until so many are inside."""

    model = "same"

    def __init__(self, meeting: asyncio.Barrier | None = None) -> None:
        self._meeting = meeting

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> FloatArray:
        if self._meeting is not None:
            await self._meeting.wait()
        return np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(texts), 1))


class NoProgress:
    def emit(self, event: Any, data: Any) -> None: ...


def a_context(**fields: Any) -> ToolContext:
    return replace(
        ToolContext("call", "zh", UserSettings(), MemoryInProcess(), NoProgress()),  # type: ignore[arg-type]
        **fields,
    )


class Tools:
    def __init__(self, embedder: SameVector | None = None) -> None:
        embedder = embedder or SameVector()
        vectors = np.tile(np.array([1.0, 0.0], dtype=np.float32), (len(SNACKS), 1))
        self.catalogue = IndexedCatalogue(LocalIndex(SNACKS, vectors), embedder)
        registry = build_tools(self.catalogue, builtin_skills(), SystemClock())
        self._runner = ToolRunner(registry, SystemClock(), lambda: None, Metrics(AGENT))

    async def run(self, context: ToolContext, *named: tuple[str, dict[str, Any]]) -> list[ToolResult]:
        calls = [ToolCall(f"c{number}", name, json.dumps(given)) for number, (name, given) in enumerate(named)]
        return [result for _, result in await self._runner.run(calls, lambda call: context)]

    async def search(self, context: ToolContext, **given: Any) -> dict[str, Any]:
        [result] = await self.run(context, ("item_search", {"query": "零食", **given}))
        return data(result)


def data(result: ToolResult) -> dict[str, Any]:
    read = json.loads(result.content[result.content.find("{") : result.content.rfind("}") + 1])
    assert isinstance(read, dict)
    return read


def ids(result: dict[str, Any]) -> list[str]:
    return [item["item_id"] for item in result["items"]]


def shown_before(*item_ids: str) -> list[LogEntry]:
    """The log of a search that returned these."""
    call = {"id": "s", "type": "function", "function": {"name": "item_search", "arguments": "{}"}}
    products = [product for product in SNACKS if product.item_id in item_ids]
    fields = {"brand": "b", "price": "1", "currency": "CNY", "platform": "jd", "ships_from": "CN"}
    result = {"items": [{"item_id": product.item_id, "title": product.title_zh, **fields} for product in products]}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "s", "content": exact_json(result)},
    ]
    return [
        LogEntry(entry_id=uuid4(), layer=Layer.L3, payload=exact_json(message), position=place, turn_id=uuid4())
        for place, message in enumerate(messages, start=1)
    ]


@pytest.fixture
def tools() -> Tools:
    return Tools()


async def test_each_exclusion_says_its_word_and_whose_it_was(tools: Tools) -> None:
    context = a_context(session_constraints=SessionConstraints(exclude=("芝麻", "牛奶")))
    result = await tools.search(context, query="零食 不含花生", exclude=["开心果"], limit=20)
    assert {one["by"] for one in result["excluded"]} == {"exclude", "session", "query"}
    by_word = {one["word"]: one["by"] for one in result["excluded"]}
    assert (by_word["开心果"], by_word["牛奶"], by_word["花生"]) == ("exclude", "session", "query")
    assert not set(ids(result)) & {one["item_id"] for one in result["excluded"]}


async def test_what_the_session_excludes_makes_room_for_the_next_best(tools: Tools) -> None:
    plain = await tools.search(a_context(), limit=3)
    context = a_context(session_constraints=SessionConstraints(exclude=("坚果", "牛奶", "果")))
    picked = await tools.search(context, limit=3)
    assert len(ids(plain)) == len(ids(picked)) == 3


async def test_the_order_has_its_reasons(tools: Tools) -> None:
    plain = await tools.search(a_context(), limit=10)
    favourite = ids(plain)[-1]
    context = a_context(
        session_constraints=SessionConstraints(must=("办公室",), penalty=("牛奶",)),
        favourites=frozenset({favourite}),
    )
    picked = await tools.search(context, limit=10)
    assert set(ids(picked)) == set(ids(plain))
    assert ids(picked) != ids(plain)
    by_id = {item["item_id"]: item for item in picked["items"]}
    assert by_id[favourite]["favourite"] is True
    assert picked["items"][0]["gained_by"] == ["办公室"]
    assert picked["items"][-1]["lost_by"] == ["牛奶"]


async def test_without_wishes_nothing_is_added_to_a_result(tools: Tools) -> None:
    result = await tools.search(a_context())
    assert set(result) == {"items", "excluded"}
    assert not {"gained_by", "lost_by", "favourite", "marks"} & {name for item in result["items"] for name in item}


async def test_the_known_destination_counts_where_the_call_names_none(tools: Tools) -> None:
    everywhere = await tools.search(a_context(), limit=20)
    assert any("DE" not in item["ships_to"] for item in everywhere["items"])
    known = DestinationCountry("DE", DestinationLayer.MEMORY)
    by_memory = await tools.search(a_context(destination=known), limit=20)
    assert by_memory["destination"] == {"country": "DE", "by": "memory"}
    assert all("DE" in item["ships_to"] for item in by_memory["items"])
    by_call = await tools.search(a_context(destination=known), ships_to="jp", limit=20)
    assert by_call["destination"] == {"country": "JP", "by": "arguments"}
    assert all("JP" in item["ships_to"] for item in by_call["items"])


async def test_memory_marks_and_does_not_filter(tools: Tools) -> None:
    plain = await tools.search(a_context(), query="坚果", limit=20)
    remembered = await tools.search(a_context(constraints=(NUT_ALLERGY,)), query="坚果", limit=20)
    assert ids(remembered) == ids(plain)
    marks = {item["item_id"]: item.get("marks") for item in remembered["items"]}
    assert marks["snk-001"] == ["nut_allergy: 坚果"]
    assert None in marks.values()


async def test_the_picker_picks_among_what_was_shown_and_nothing_else(tools: Tools) -> None:
    shown = shown_before("snk-001", "snk-002", "snk-013", "snk-014")
    context = a_context(
        earlier=shown,
        session_constraints=SessionConstraints(exclude=("开心果",)),
        constraints=(NUT_ALLERGY,),
    )
    [result] = await tools.run(context, ("item_picker", {"must": ["苹果"], "exclude": "海苔"}))
    picked = data(result)
    assert ids(picked) == ["snk-014", "snk-001"]
    assert picked["items"][0]["gained_by"] == ["苹果"]
    assert picked["items"][1]["marks"]
    assert {(one["item_id"], one["word"], one["by"]) for one in picked["excluded"]} == {
        ("snk-002", "开心果", "session"),
        ("snk-013", "海苔", "exclude"),
    }
    assert result.content.startswith("<external_content")

    [result] = await tools.run(context, ("item_picker", {"item_ids": ["snk-014", "snk-020", "nonsense"]}))
    assert ids(data(result)) == ["snk-014"]
    assert data(result)["unknown"] == ["snk-020", "nonsense"]


async def test_the_picker_takes_what_this_turn_has_shown_first(tools: Tools) -> None:
    context = a_context(earlier=shown_before("snk-001"), entries=shown_before("snk-013"))
    [result] = await tools.run(context, ("item_picker", {}))
    assert ids(data(result)) == ["snk-013"]


async def test_with_nothing_shown_the_picker_says_what_to_do(tools: Tools) -> None:
    for given in ({}, {"item_ids": ["snk-001"]}):
        [result] = await tools.run(a_context(), ("item_picker", given))
        assert result.failed
        assert "item_search" in result.content


async def test_a_detail_has_everything_and_its_marks(tools: Tools) -> None:
    [result] = await tools.run(a_context(constraints=(NUT_ALLERGY,)), ("item_detail", {"item_id": "snk-001"}))
    item = data(result)["item"]
    product = next(product for product in SNACKS if product.item_id == "snk-001")
    assert item["description"] == product.description_zh
    assert item["attributes"] == product.attributes
    assert item["marks"] == ["nut_allergy: 坚果"]
    assert result.content.startswith("<external_content")
    [unknown] = await tools.run(a_context(), ("item_detail", {"item_id": "snk-999"}))
    assert unknown.failed


async def test_guides_are_found_and_fenced(tools: Tools) -> None:
    [result] = await tools.run(a_context(), ("knowledge_search", {"query": "寄到德国要交多少关税"}))
    assert data(result)["sections"][0]["heading"].startswith("欧盟进口")
    assert result.content.startswith('<external_content source="knowledge_search">')
    [nothing] = await tools.run(a_context(), ("knowledge_search", {"query": "zzzz"}))
    assert data(nothing)["sections"] == []
    [empty] = await tools.run(a_context(), ("knowledge_search", {"query": " "}))
    assert empty.failed


async def test_three_searches_of_one_step_are_under_way_at_once() -> None:
    """All three are inside the embedder before any of them goes on: one after the other would wait for ever."""
    tools = Tools(SameVector(asyncio.Barrier(3)))
    searches = [("item_search", {"query": word}) for word in ("零食", "海苔", "果干")]
    async with asyncio.timeout(10):
        results = await tools.run(a_context(), *searches)
    assert [result.failed for result in results] == [False] * 3


async def test_an_empty_result_says_within_what_was_searched(tools: Tools) -> None:
    known = DestinationCountry("AQ", DestinationLayer.SESSION)
    elsewhere = UserSettings(platforms=["nowhere"])
    result = await tools.search(a_context(destination=known, settings=elsewhere), price_max=1, currency="RMB")
    assert result["items"] == []
    assert result["nothing_within"] == {
        "price_max": "1",
        "currency": "CNY",
        "ships_to": "AQ",
        "platforms": ["nowhere"],
    }
    assert "nothing_within" not in await tools.search(a_context())
