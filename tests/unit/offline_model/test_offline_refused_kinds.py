"""A kind of product or colour that is refused: which words refuse it, and that what is sought is never excluded."""

from typing import Any

import pytest
from tests.support.offline_session import Session

from offline_model.language.exclusions import exclusions_in
from offline_model.language.wishes import bare_phrase, wishes_in


@pytest.mark.parametrize(
    ("words", "excluded"),
    [
        ("不要首饰，换一批", ["首饰"]),
        ("不要首饰类的，换一批", ["首饰"]),
        ("我不要背包了，换个手提包", ["背包"]),
        ("推荐不要首饰的礼物", ["首饰"]),
        ("推荐一个不要黑色的水杯", ["黑色"]),
        ("别要黑色背包，白色背包可以", ["黑色"]),
        ("不要黑色但要轻便的背包", ["黑色"]),
        ("不要黑色和白色", ["黑色", "白色"]),
        ("红色和不要黑色的", ["黑色"]),
        ("不想要手机壳，想要手机", ["手机壳"]),
        ("no watches please, recommend some jewellery", ["watch"]),
        ("I don't want shoes, find me a backpack", ["shoes"]),
        ("a backpack, no black ones", ["black"]),
        ("no black backpacks, please", ["black"]),
        ("no black and no white", ["black", "white"]),
        ("not gold, silver", ["gold"]),
        ("nothing black", ["black"]),
        ("不要黑色那种", ["黑色"]),
        ("不要黑色系", ["黑色"]),
        ("不要首饰因为戴不了", ["首饰"]),
        ("不要黑色包", ["黑色"]),
        ("no black bag", ["black"]),
        ("no black for me", ["black"]),
        ("no pink - she hates it", ["pink"]),
        ("I don't like red very much", ["red"]),
        ("it must have no black", ["black"]),
    ],
)
def test_a_kind_is_refused_by_its_whole_name(words: str, excluded: list[str]) -> None:
    assert exclusions_in(words) == excluded


@pytest.mark.parametrize(
    "words",
    [
        "不要首饰盒，要首饰",
        "不要鞋带的鞋",
        "不要黑色素",
        "不要黑色包装",
        "不要鞋系带的，换一批",
        "I don't want shoes with laces, find me shoes",
        "no shoes for running",
        "no gold plated",
        "no bag is too expensive",
        "no coffee stained shirts",
    ],
)
def test_a_name_that_goes_on_refuses_something_else(words: str) -> None:
    assert exclusions_in(words) == []


@pytest.mark.parametrize(
    "words",
    [
        "不是不要黑色",
        "我不是说不要黑色",
        "没有不喜欢黑色",
        "我没说不要黑色",
        "要不要红色的",
        "I have no shoes",
        "I've no shoes, find me some",
        "she has no watch and wants one",
        "I have got no shoes",
        "there is no black",
        "there's no black one",
        "not that I don't like black",
    ],
)
def test_a_denied_refusal_and_a_lack_refuse_nothing(words: str) -> None:
    assert exclusions_in(words) == []


@pytest.mark.parametrize(
    ("words", "sought", "excluded"),
    [
        ("不要首饰盒，要首饰", "首饰", set()),
        ("不想要首饰盒，想要首饰", "首饰", set()),
        ("不要茶，要茶杯", "茶杯", set()),
        ("不要茶，茶杯", "茶杯", set()),
        ("no tea, find me a tea cup", "tea cup", set()),
        ("不要黑色背包，想要黑色手提包", "黑色手提包", set()),
        ("I have no shoes for running, find me shoes", "shoes", set()),
        ("I don't want shoes with laces, find me shoes", "shoes", set()),
        ("no red, find me a shredder", "shredder", {"red", "红色"}),
        ("我不要背包了，换个手提包", "手提包", {"背包", "backpack"}),
        ("不要背包和手提包，找行李箱", "行李箱", {"背包", "backpack", "手提包", "handbag"}),
        ("有没有不要黑色的背包", "背包", {"黑色", "black"}),
        ("想要不要黑色的背包", "背包", {"黑色", "black"}),
        ("要不要红色的？推荐一个背包", "背包", set()),
    ],
)
def test_a_search_never_excludes_what_it_seeks(words: str, sought: str, excluded: set[str]) -> None:
    session = Session()
    session.turn(words)
    (search,) = session.made("item_search")
    assert search["query"] == sought
    assert set(search.get("exclude") or []) == excluded


def test_a_reason_does_not_lift_a_refusal() -> None:
    session = Session()
    session.turn("想找一个背包")
    session.turn("不要黑色，黑色显脏，换一批")
    searches: list[dict[str, Any]] = session.made("item_search")
    assert {"黑色", "black"} <= set(searches[-1]["exclude"])


@pytest.mark.parametrize(
    "words",
    [
        "我不要背包了",
        "不要首饰类的",
        "不要黑色系的",
        "不要黑色那种",
        "我不要首饰了吧",
        "I don't want backpacks anymore",
    ],
)
def test_nothing_is_left_of_a_refusal_to_search_for(words: str) -> None:
    assert bare_phrase(words) in ("", "I")


@pytest.mark.parametrize(
    ("words", "queries"), [("换个手提包", ["手提包"]), ("换个便宜点的", []), ("换一批", []), ("怎么换猫砂", [])]
)
def test_a_change_to_a_named_product_seeks_it(words: str, queries: list[str]) -> None:
    assert list(wishes_in(words).queries) == queries
