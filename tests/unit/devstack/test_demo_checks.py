"""The demo can find itself wrong: each of its looks at the system tells a good outcome from a bad one."""

import io
from decimal import Decimal

from rich.console import Console

from agent.catalogue.products import Product
from devstack.demo.claims import Claims
from devstack.demo.products import (
    about_nuts,
    excludes_nuts,
    made_of,
    not_shipped_to,
    over_budget,
    sum_of_prices,
    with_nuts,
)
from devstack.demo.record import TurnRecord
from devstack.gateway_client import TurnEvent
from devstack.terminal.screen import Screen
from devstack.terminal.turn_view import call_line

_CAKE = Product(
    item_id="sna-001",
    domain="snacks_food",
    title_zh="杏仁饼干",
    title_en="Almond biscuits",
    description_zh="酥脆",
    description_en="Crisp",
    brand="Brot",
    price=Decimal("10.00"),
    currency="EUR",
    materials=(),
    allergens=("almond",),
    ships_from="DE",
    ships_to=("DE", "FR"),
    platform="amazon",
)


def test_products_are_judged_by_the_catalogue() -> None:
    assert with_nuts([_CAKE]) == ["sna-001"]
    assert with_nuts([_CAKE.model_copy(update={"allergens": ("milk",)})]) == []
    assert not_shipped_to([_CAKE], "US") == ["sna-001"]
    assert not_shipped_to([_CAKE], "DE") == []
    assert over_budget([_CAKE], Decimal(9), "EUR") == ["sna-001"]
    assert over_budget([_CAKE], Decimal(10), "EUR") == []
    bottle = _CAKE.model_copy(update={"materials": ("abs",)})
    assert made_of([_CAKE, bottle], frozenset({"abs"})) == ["sna-001"]
    assert sum_of_prices([_CAKE, bottle], "EUR") == 20


def test_every_search_has_to_exclude_nuts_and_there_has_to_be_one() -> None:
    assert excludes_nuts([{"exclude": ["坚果", "花生"]}, {"exclude": ["Nuts"]}])
    assert not excludes_nuts([{"exclude": ["坚果"]}, {"query": "snacks"}])
    assert not excludes_nuts([])


def test_facts_about_nuts_are_constraints() -> None:
    fact = {"category": "constraint", "key": "allergy", "value": "对坚果过敏"}
    assert about_nuts([fact]) == [fact]
    assert about_nuts([{**fact, "category": "preference"}, {**fact, "value": "不要真皮"}]) == []


def test_calls_are_shown_short() -> None:
    arguments = {"query": "包", "exclude": [str(n) for n in range(9)], "items": [{"item_id": "a"}]}
    assert call_line("item_search", arguments) == "item_search(query=包, exclude=0、1、2、3、4… (+4), items=[1])"


def test_a_false_claim_is_remembered() -> None:
    shown = io.StringIO()
    claims = Claims(Screen(Console(file=shown)))
    claims.check("two is two", True)
    claims.check("one is two", False, seen=[1])
    assert (claims.made, claims.false) == (2, ["one is two"])
    assert "✗ one is two" in shown.getvalue()
    assert "[1]" in shown.getvalue()
    assert not claims.verdict()
    assert Claims(Screen(Console(file=shown))).verdict()


def test_a_turn_is_collected_from_its_events() -> None:
    record = TurnRecord("s", "t")
    for kind, data in (
        ("tool.started", {"tool": "item_search", "arguments": '{"query":"包"}'}),
        ("tool.started", {"tool": "save_memory", "arguments": {"key": "k"}}),
        ("plan", {"gift": True}),
        ("order.card", {"order_id": "o", "state": "pending"}),
        ("memory.saved", {"key": "k"}),
        ("turn.completed", {"reply": "好", "items": [{"item_id": "a"}], "failure": None}),
        ("memory.updated", {"outcomes": [{"key": "n"}]}),
    ):
        record.add(TurnEvent("", kind, data))
    assert record.completed
    assert record.arguments_of("item_search") == [{"query": "包"}]
    assert (record.saved, record.curated) == ([{"key": "k"}], [{"key": "n"}])
    assert (record.plan, record.order_cards) == ({"gift": True}, [{"order_id": "o", "state": "pending"}])
    assert (record.reply, record.items) == ("好", [{"item_id": "a"}])
