"""What a query rules out by its own words, and what only looks like it."""

import pytest

from agent.catalogue.denials import read_denials


@pytest.mark.parametrize(
    ("query", "wanted", "denied"),
    [
        ("不含坚果的零食", "零食", ("坚果",)),
        ("零食 不要坚果和花生", "零食", ("坚果", "花生")),
        ("零食，不含坚果类、牛奶", "零食,", ("坚果", "牛奶")),
        ("坚果过敏可以吃的零食", "可以吃的零食", ("坚果",)),
        ("对羊毛过敏穿的毛衣", "穿的毛衣", ("羊毛",)),
        ("无镍耳钉", "耳钉", ("镍",)),
        ("snacks without nuts or milk", "snacks", ("nuts", "milk")),
        ("Nut-free snacks", "snacks", ("nut",)),
        ("bag, no leather", "bag,", ("leather",)),
        ("snacks for a peanut allergy", "snacks for a", ("peanut",)),
    ],
)
def test_a_denial_is_taken_out(query: str, wanted: str, denied: tuple[str, ...]) -> None:
    assert read_denials(query) == (wanted, denied)


@pytest.mark.parametrize(
    "query",
    [
        "坚果",
        "有没有坚果",
        "要不要羊毛的",
        "无线充电座",
        "非博士茶",
        "不锈钢饭盒",
        "BPA-free bottle",
        "a notebook",
        "No Name",
        "nonstick pan",
        "minute nutcracker",
    ],
)
def test_everything_else_stays_as_it_was_written(query: str) -> None:
    assert read_denials(query) == (query, ())


def test_a_query_that_only_denies_is_kept_whole() -> None:
    assert read_denials("不含坚果") == ("不含坚果", ("坚果",))
