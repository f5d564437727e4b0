"""What the model writes into `item_search`, and what is read back out of a stored result."""

from typing import Any

import pytest
from pydantic import ValidationError

from agent.catalogue.products import load_products
from agent.context.fences import external_content
from agent.picking.picking import Picked
from agent.skills.catalogue import builtin_skills
from agent.tools.item_results import Excluded, read_items, render_detail, render_items
from agent.tools.item_search import read_query
from agent.tools.registry import build_tools
from common.clock import SystemClock
from common.memory_api.user_data import UserSettings
from model_client.arguments import read_arguments


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "包"}, {}),
        ({"query": "包", "exclude": "坚果"}, {"exclude": ("坚果",)}),
        ({"query": "包", "exclude": [], "brands": None, "ships_to": ""}, {}),
        ({"query": "包", "ships_to": "de", "currency": "eur"}, {"ships_to": "DE", "currency": "EUR"}),
        ({"query": "包", "price_max": 9, "currency": "RMB"}, {"currency": "CNY"}),
        ({"query": "包", "price_max": 9, "currency": "美元"}, {"currency": "USD"}),
        ({"query": "包", "price_max": 9, "currency": "British pound"}, {"currency": "GBP"}),
        ({"query": "包", "currency": "  "}, {"currency": "CNY"}),
        ({"query": "包", "ships_to": "  ", "domain": " "}, {"ships_to": None, "domain": None}),
        ({"query": "包", "ships_to": "uk"}, {"ships_to": "GB"}),
        ({"query": "包", "ships_to": "德国"}, {"ships_to": "DE"}),
        ({"query": "包", "sort": "price", "limit": 500}, {"limit": 20}),
    ],
)
def test_arguments_are_read_leniently(arguments: dict[str, Any], expected: dict[str, Any]) -> None:
    query = read_query(arguments, UserSettings())
    assert {name: getattr(query, name) for name in expected} == expected
    assert query.query == "包"


@pytest.mark.parametrize(
    "arguments", [{}, {"query": " "}, {"query": "包", "ships_to": "Atlantis"}, {"query": "包", "price_max": "cheap"}]
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read_query(arguments, UserSettings())


def test_an_unknown_currency_is_told_what_there_is() -> None:
    with pytest.raises(ValidationError, match="CNY, EUR"):
        read_query({"query": "包", "price_max": 9, "currency": "doubloons"}, UserSettings())


SHOPS = UserSettings(platforms=["jd", "taobao"])


def test_the_users_platforms_cannot_be_widened() -> None:
    assert read_query({"query": "包", "platforms": ["jd", "etsy"]}, SHOPS).platforms == ("jd",)
    assert read_query({"query": "包", "platforms": ["etsy"]}, SHOPS).platforms == ("jd", "taobao")


def test_a_platform_is_one_however_it_is_written() -> None:
    assert read_query({"query": "包", "platforms": ["JD ", "Etsy"]}, SHOPS).platforms == ("jd",)
    assert read_query({"query": "包"}, UserSettings(platforms=["Amazon"])).platforms == ("amazon",)


@pytest.mark.parametrize(
    ("arguments", "currency"),
    [
        ({"query": "包", "price_max": 50}, "EUR"),
        ({"query": "包", "price_min": 50, "currency": ""}, "EUR"),
        ({"query": "包", "price_min": 50, "currency": "  "}, "EUR"),
        ({"query": "包", "price_min": 50, "currency": None}, "EUR"),
        ({"query": "包", "price_max": 50, "currency": "usd"}, "USD"),
    ],
)
def test_a_bound_without_a_currency_is_in_the_users(arguments: dict[str, Any], currency: str) -> None:
    assert read_query(arguments, UserSettings(currency="EUR")).currency == currency


def test_a_user_whose_currency_has_no_rate_can_search() -> None:
    assert read_query({"query": "包"}, UserSettings(currency="PLN")).query == "包"
    with pytest.raises(ValidationError):
        read_query({"query": "包", "price_max": 50}, UserSettings(currency="PLN"))


def test_a_stored_result_gives_its_products_back() -> None:
    products = load_products()[:3]
    marks = {products[1].item_id: ["nut_allergy: 坚果"]}
    shown = render_items(map(Picked, products), [Excluded("x", "坚果", "exclude")], marks, "zh")
    cards = read_items(external_content("item_search", shown))
    assert [(card.item_id, card.price, card.title) for card in cards] == [
        (product.item_id, product.price, product.title_zh) for product in products
    ]
    assert [card.marks for card in cards] == [[], ["nut_allergy: 坚果"], []]


def test_a_stored_detail_gives_its_product_back() -> None:
    product = load_products()[0]
    [card] = read_items(external_content("item_detail", render_detail(product, {}, "en")))
    assert (card.item_id, card.title) == (product.item_id, product.title_en)


@pytest.mark.parametrize("content", ['{"error":"no"}', "", "[]", '{"items":[{"item_id":1}]}', '{"items":7}'])
def test_other_results_give_none(content: str) -> None:
    assert read_items(content) == []


@pytest.mark.parametrize("text", ["", "[", "[]", "7", '"x"', "{'a':1}", "[" * 100_000])
def test_arguments_that_are_no_object_are_none(text: str) -> None:
    assert read_arguments(text) is None


def test_every_schema_says_what_its_tool_reads() -> None:
    for tool in build_tools(None, builtin_skills(), SystemClock()):  # type: ignore[arg-type]
        function = tool.schema["function"]
        assert function["name"] == tool.name
        assert set(function["parameters"]["required"]) <= set(function["parameters"]["properties"])
