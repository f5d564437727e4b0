"""Picking: each exclusion has its word, the order has its reasons, and a contradiction is marked and not filtered."""

import pytest
from tests.unit.agent.example_facts import a_fact

from agent.catalogue.products import Product, load_products
from agent.picking.constraint_safety import contradictions
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


@pytest.mark.parametrize("value", ["对坚果过敏", "不吃坚果", "allergic to nuts", "No nuts at all"])
def test_a_result_that_contradicts_a_constraint_is_marked(snacks: list[Product], value: str) -> None:
    marks = contradictions(snacks, [a_fact("nut_allergy", value, "constraint")])
    marked = {mark.item_id for mark in marks}
    with_nuts = {p.item_id for p in snacks if {"nuts", "peanut", "almond", "walnut"} & set(p.allergens)}
    assert with_nuts <= marked
    assert {mark.fact_key for mark in marks} == {"nut_allergy"}


def test_only_constraints_that_rule_out_are_read(bags: list[Product]) -> None:
    assert contradictions(bags, [a_fact("bag_material", "只要尼龙的", "constraint")]) == []
    assert contradictions(bags, [a_fact("bag_material", "不喜欢尼龙", "preference")]) == []
    assert contradictions(bags, [a_fact("bag_material", "不要尼龙", "constraint")])


def test_a_constraint_that_names_nothing_of_the_catalogue_marks_nothing(bags: list[Product]) -> None:
    assert contradictions(bags, [a_fact("no_rush", "不着急", "constraint")]) == []
