"""The pure part of a search: scores, order, bounds, what is listed and what is reported as ruled out."""

from decimal import Decimal

import pytest
from pydantic import ValidationError

from agent.catalogue.exchange_rates import convert
from agent.catalogue.filters import price_admitted, take
from agent.catalogue.products import Product, load_products
from agent.catalogue.queries import CatalogueQuery, Exclusion
from agent.catalogue.ranking import Candidate, Ranked, lexical_scores, rank
from agent.catalogue.searchable import SearchableProduct, fingerprint, make_searchable, passage, terms

ENTRIES = {product.item_id: make_searchable(product) for product in load_products()}


def entries(*item_ids: str) -> list[SearchableProduct]:
    return [ENTRIES[item_id] for item_id in item_ids]


def order(ranked: list[Ranked]) -> list[str]:
    return [one.entry.product.item_id for one in ranked]


def priced(price: str, currency: str) -> Product:
    return ENTRIES["bag-001"].product.model_copy(update={"price": Decimal(price), "currency": currency})


def test_terms_are_words_and_character_pairs() -> None:
    assert terms("通勤双肩包 15.6 inch backpacks for the office") == [
        *("15", "6", "inch", "backpack", "office"),
        *("通勤", "勤双", "双肩", "肩包"),
    ]
    assert terms("茶") == ["茶"]
    assert terms("") == []


def test_words_in_the_title_weigh_more_than_words_in_the_text() -> None:
    in_title, elsewhere, nowhere = lexical_scores("降噪耳机", entries("aud-001", "aud-015", "gar-001"))
    assert in_title > elsewhere > nowhere == 0.0


def test_a_rare_word_weighs_more_than_a_common_one() -> None:
    stand, tripod = lexical_scores("手机三脚架", entries("pho-012", "pho-013"))
    assert tripod > stand


def test_an_exact_model_number_wins_over_similarity() -> None:
    candidates = [Candidate(ENTRIES["aud-001"], 0.80), Candidate(ENTRIES["aud-002"], 0.81)]
    candidates += [Candidate(ENTRIES["gar-001"], 0.70)]
    assert order(rank("SM-H4", candidates))[0] == "aud-001"


def test_similarity_decides_where_words_say_nothing() -> None:
    candidates = [Candidate(ENTRIES["gar-001"], 0.78), Candidate(ENTRIES["trv-001"], 0.86)]
    assert order(rank("zzz", candidates)) == ["trv-001", "gar-001"]


def test_ties_are_ordered_by_item_id_whatever_the_input_order() -> None:
    candidates = [Candidate(ENTRIES[item_id], 0.8) for item_id in ("gar-002", "aud-004", "bag-003")]
    assert order(rank("zzz", candidates)) == ["aud-004", "bag-003", "gar-002"]
    assert order(rank("zzz", candidates[::-1])) == ["aud-004", "bag-003", "gar-002"]


def test_nothing_in_nothing_out() -> None:
    assert rank("背包", []) == []
    assert rank("？！", [Candidate(ENTRIES["bag-001"], 0.8)]) != []


def test_what_is_ruled_out_is_reported_with_its_word_and_replaced_by_the_next() -> None:
    ranked = [Ranked(entry, 1.0 - place / 10) for place, entry in enumerate(entries("snk-002", "snk-013", "snk-014"))]
    result = take(ranked, CatalogueQuery(query="零食", exclude=("坚果",), limit=2))
    assert [product.item_id for product in result.items] == ["snk-013", "snk-014"]
    assert result.excluded == [Exclusion("snk-002", "坚果")]


def test_what_lies_behind_the_limit_is_not_reported() -> None:
    ranked = [Ranked(entry, 1.0) for entry in entries("snk-013", "snk-014", "snk-002")]
    result = take(ranked, CatalogueQuery(query="零食", exclude=("坚果",), limit=2))
    assert result.excluded == []


def test_the_far_less_relevant_are_left_out() -> None:
    scores = [1.0, 0.6, 0.2]
    ranked = [
        Ranked(entry, score) for entry, score in zip(entries("bag-001", "bag-002", "gar-001"), scores, strict=True)
    ]
    assert [product.item_id for product in take(ranked, CatalogueQuery(query="包")).items] == ["bag-001", "bag-002"]


def test_the_bar_is_set_by_the_best_that_is_not_ruled_out() -> None:
    scores = [1.0, 0.4, 0.3]
    ranked = [
        Ranked(entry, score) for entry, score in zip(entries("snk-002", "snk-013", "snk-014"), scores, strict=True)
    ]
    result = take(ranked, CatalogueQuery(query="零食", exclude=("坚果",)))
    assert [product.item_id for product in result.items] == ["snk-013", "snk-014"]


def test_conversion_is_exact_in_its_own_currency() -> None:
    assert convert(Decimal("0.1"), "USD", "USD") == Decimal("0.1")
    assert convert(Decimal("60"), "EUR", "CNY") == Decimal("453.00")
    with pytest.raises(KeyError):
        convert(Decimal(1), "XXX", "CNY")


@pytest.mark.parametrize(
    ("price", "currency", "bounds", "admitted"),
    [
        ("500.00", "CNY", {"price_max": 500}, True),
        ("500.01", "CNY", {"price_max": 500}, False),
        ("60.00", "EUR", {"price_max": 500}, True),
        ("67.00", "EUR", {"price_max": 500}, False),
        ("99.99", "CNY", {"price_min": 100}, False),
        ("100.00", "CNY", {"price_min": 100, "price_max": 100}, True),
        ("585", "CNY", {"price_max": 80, "currency": "USD"}, True),
        ("587", "CNY", {"price_max": 80, "currency": "USD"}, False),
        ("999999", "CNY", {}, True),
    ],
)
def test_price_bounds(price: str, currency: str, bounds: dict[str, object], admitted: bool) -> None:
    query = CatalogueQuery.model_validate({"query": "包", **bounds})
    assert price_admitted(priced(price, currency), query) is admitted


@pytest.mark.parametrize(
    "change",
    [
        {"query": " "},
        {"query": "\x00"},
        {"query": "\ud800"},
        {"query": "x" * 501},
        {"domain": "weapons"},
        {"price_max": "NaN"},
        {"price_max": "Infinity"},
        {"price_max": 0},
        {"price_min": -1},
        {"price_min": 2, "price_max": 1},
        {"currency": "XXX"},
        {"ships_to": "Atlantis"},
        {"currency": ""},
        {"limit": 0},
        {"limit": 51},
        {"exclude": [""]},
        {"exclude": ["x"] * 51},
        {"colour": "red"},
    ],
)
def test_a_senseless_query_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as refusal:
        CatalogueQuery.model_validate({"query": "背包"} | change)
    assert "input_value" not in str(refusal.value)


def test_codes_are_read_in_any_case() -> None:
    query = CatalogueQuery.model_validate({"query": "包", "ships_to": " de ", "currency": "usd"})
    assert (query.ships_to, query.currency) == ("DE", "USD")


def test_a_fingerprint_changes_with_the_model_the_products_and_their_text() -> None:
    products = [ENTRIES["bag-001"].product, ENTRIES["bag-002"].product]
    name = fingerprint(products, "m")
    assert fingerprint(products[::-1], "m") == name
    assert fingerprint(products, "n") != name
    assert fingerprint(products[:1], "m") != name
    assert fingerprint([products[0], products[1].model_copy(update={"price": Decimal("1.00")})], "m") != name


def test_the_embedded_text_is_in_both_languages() -> None:
    product = ENTRIES["bag-001"].product
    text = passage(product)
    for part in (product.title_zh, product.title_en, product.description_zh, product.description_en):
        assert part in text
