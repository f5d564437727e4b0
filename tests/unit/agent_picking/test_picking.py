"""Picking: each exclusion has its word, the order has its reasons, and a contradiction is marked and not filtered."""

import pytest

from agent.catalogue.products import Product, load_products
from agent.context.memory_block import RememberedConstraint
from agent.picking.constraint_safety import marks_of, names_conflict
from agent.picking.picking import pick
from agent.session_constraints.bundle import MemoryBundle

NOTHING = MemoryBundle((), (), (), ())


@pytest.fixture(scope="module")
def snacks() -> list[Product]:
    return [product for product in load_products() if product.domain == "snacks_food"]


@pytest.fixture(scope="module")
def bags() -> list[Product]:
    return [product for product in load_products() if product.domain == "bags_luggage"]


def test_without_words_the_order_of_the_search_stays(bags: list[Product]) -> None:
    assert [picked.product for picked in pick(bags, NOTHING).items] == bags


def test_everything_is_either_kept_or_dropped_with_a_word(snacks: list[Product]) -> None:
    picking = pick(snacks, NOTHING._replace(exclude=("坚果", "不存在的词")))
    assert picking.dropped
    assert {dropped.word for dropped in picking.dropped} == {"坚果"}
    kept = {picked.product.item_id for picked in picking.items}
    gone = {dropped.item_id for dropped in picking.dropped}
    assert kept | gone == {product.item_id for product in snacks}
    assert not kept & gone


def test_must_goes_up_and_penalty_goes_down(bags: list[Product]) -> None:
    picking = pick(bags, NOTHING._replace(must=("尼龙",), penalty=("涤纶",)))
    assert picking.items[0].gained_by == ("尼龙",)
    assert picking.items[-1].lost_by == ("涤纶",)


def test_a_favourite_goes_before_its_equals(bags: list[Product]) -> None:
    last = bags[-1].item_id
    first = pick(bags, NOTHING._replace(affinity=(last,))).items[0]
    assert first.product.item_id == last
    assert first.favourite


def marked(products: list[Product], key: str, value: str, subject: str = "self") -> dict[str, list[str]]:
    return marks_of(products, [RememberedConstraint(key, value, subject)])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("nut_allergy", "对坚果过敏"),
        ("diet", "不吃坚果"),
        ("diet", "allergic to nuts"),
        ("diet", "No nuts at all"),
        ("nuts_avoid", "坚果"),
        ("snacks", "零食要无坚果的"),
        ("nut_allergy", "喜欢咸的，坚果不行"),
    ],
)
def test_a_result_that_contradicts_a_constraint_is_marked(snacks: list[Product], key: str, value: str) -> None:
    marks = marked(snacks, key, value)
    with_nuts = {p.item_id for p in snacks if {"nuts", "peanut", "almond", "walnut"} & set(p.allergens)}
    assert with_nuts <= set(marks)
    assert len(marks) < len(snacks)
    assert all(mark.startswith(f"{key}: ") for found in marks.values() for mark in found)


def test_only_what_is_ruled_out_is_marked(bags: list[Product]) -> None:
    assert marked(bags, "bag_material", "只要尼龙的") == {}
    nylon_wanted = marked(bags, "bag_material", "只要尼龙的，不要牛皮")
    assert nylon_wanted
    assert {mark for found in nylon_wanted.values() for mark in found} == {"bag_material: 牛皮"}


def test_a_constraint_that_names_nothing_of_the_catalogue_marks_nothing(bags: list[Product]) -> None:
    assert marked(bags, "no_rush", "不着急") == {}
    assert marked(bags, "bag_material", "牛皮的无所谓") == {}


def test_a_mark_says_whose_constraint_it_is(snacks: list[Product]) -> None:
    found = marked(snacks, "nut_allergy", "对坚果过敏", "mother")
    assert {mark for marks in found.values() for mark in marks} == {"nut_allergy（mother）: 坚果"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("注意：含坚果", True),
        ("contains nuts, so not for you", True),
        ("里面有花生", True),
        ("不含坚果，放心吃", False),
        ("nut-free", False),
        ("很好吃", False),
        ("", False),
    ],
)
def test_a_conflict_is_named_by_any_of_its_words_but_not_by_a_denial(text: str, named: bool) -> None:
    assert names_conflict(text, "nut_allergy: 坚果") is named
