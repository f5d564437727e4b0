"""Which texts an exclude word hits."""

import pytest

from agent.catalogue.exclusion import first_mention
from agent.catalogue.products import load_products
from agent.catalogue.searchable import make_searchable
from common.text import normalise

ENTRIES = {product.item_id: make_searchable(product) for product in load_products()}


def hit(item_id: str, *words: str) -> str | None:
    entry = ENTRIES[item_id]
    return first_mention(words, entry.claims, entry.declared)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("坚果", "每日坚果 25克"),
        ("nut", "Mixed nuts"),
        ("nuts", "one nut"),
        ("NUT", "nut bar"),
        ("nut", "含nut颗粒"),
        ("berries", "a berry"),
        ("berry", "berries"),
        ("ｎｕｔ", "nut"),
        ("坚果类", "混合坚果"),
        ("glass", "two glasses"),
        ("坚果", "无糖坚果"),
        ("坚果", "不只是坚果"),
        ("坚果", "不含牛奶,坚果味"),
        ("nut", "sugar-free nut bar"),
        ("nut", "free from sugar, nut bar"),
        ("nuts", "not only nuts"),
        ("糖", "每瓶10糖"),
    ],
)
def test_a_mention_is_found(word: str, text: str) -> None:
    assert first_mention([word], normalise(text), "") == word


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("nut", "five minutes"),
        ("nut", "nutrition facts"),
        ("nut", "coconut water"),
        ("egg", "eggplant"),
        ("坚果", "不含坚果"),
        ("坚果", "无坚果配方"),
        ("nut", "nut-free bakery"),
        ("nuts", "made without nuts"),
        ("plastic", "without a plastic liner"),
        ("镍", "无镍耳钉"),
        ("含糖", "不含糖饮料"),
        ("加糖", "不加糖豆浆"),
        ("糖", "0糖可乐"),
        ("坚果", "没有坚果"),
        ("坚果", "不含牛奶和坚果"),
        ("sugar", "no added sugar"),
        ("nuts", "does not contain nuts"),
        ("nuts", "doesn’t contain any nuts"),
        ("nuts", "free from milk, soy and nuts"),
        ("", "anything"),
        ("   ", "anything"),
        ("\u200b", "anything"),
    ],
)
def test_no_mention_is_found(word: str, text: str) -> None:
    assert first_mention([word], normalise(text), "") is None


@pytest.mark.parametrize(
    ("word", "suits", "does_not"),
    [
        ("不含坚果", "不含坚果的饼干", "坚果饼干"),
        ("无糖", "无糖可乐", "白砂糖"),
        ("nut-free", "nut-free cookies", "nut cookies"),
        ("no plastic", "plastic-free brush", "plastic brush"),
    ],
)
def test_who_excludes_a_denial_means_what_it_denies(word: str, suits: str, does_not: str) -> None:
    assert first_mention([word], normalise(suits), "") is None
    assert first_mention([word], normalise(does_not), "") == word


def test_a_denial_does_not_hide_another_mention() -> None:
    assert first_mention(["坚果"], "不含坚果的包装 内有坚果", "") == "坚果"


def test_a_denial_in_the_texts_does_not_outweigh_what_is_declared() -> None:
    assert first_mention(["nut"], "nut-free", "nut") == "nut"


def test_special_characters_are_only_characters() -> None:
    assert first_mention(["(.*)"], "anything", "") is None
    assert first_mention(["c++"], "for c++ fans", "") == "c++"


@pytest.mark.parametrize("word", ["坚果", "杏仁", "almond", "nuts", "tree nut", "巴旦木", "果仁"])
def test_an_almond_product_is_hit_in_every_language_and_by_its_kind(word: str) -> None:
    assert hit("snk-009", word) == word


@pytest.mark.parametrize("word", ["坚果", "nut", "花生", "peanut"])
def test_peanuts_count_as_nuts(word: str) -> None:
    assert hit("snk-004", word) == word


@pytest.mark.parametrize("item_id", ["snk-013", "snk-014", "snk-017", "snk-018", "snk-019", "snk-025"])
def test_snacks_without_nuts_stay(item_id: str) -> None:
    words = (
        "坚果",
        "nut",
        "花生",
        "peanut",
        "杏仁",
        "almond",
        "腰果",
        "cashew",
        "核桃",
        "walnut",
        "开心果",
        "pistachio",
    )
    assert hit(item_id, *words) is None


def test_a_material_is_hit_by_its_kind() -> None:
    assert hit("toy-012", "塑料") == "塑料"
    assert hit("toy-012", "plastic") == "plastic"
    assert hit("bag-010", "真皮") == "真皮"
    assert hit("kit-009", "塑料", "plastic") is None


def test_nickel_free_studs_stay_and_nickel_goes() -> None:
    assert hit("jew-001", "镍", "nickel") is None
    assert hit("jew-003", "镍") == "镍"


def test_the_reason_is_the_first_word_that_hits_as_it_was_given() -> None:
    assert hit("snk-009", "花生", "Almonds", "坚果") == "Almonds"
