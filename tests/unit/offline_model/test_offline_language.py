"""Prices, destinations, exclusions and wishes in the user's words."""

import time
from decimal import Decimal

import pytest

from offline_model.language.avoidance import avoidances_in, words_to_exclude
from offline_model.language.countries import country_code, shipping_mentions
from offline_model.language.money import price_bounds
from offline_model.language.reading import readable
from offline_model.language.statements import statements_in
from offline_model.language.wishes import SmallTalk, wishes_in


@pytest.mark.parametrize(
    ("words", "minimum", "maximum", "currency"),
    [
        ("500 元以内", None, "500", "CNY"),
        ("不超过五百元", None, "500", "CNY"),
        ("一千五以内", None, "1500", "CNY"),
        ("预算 300", None, "300", "CNY"),
        ("至少100元", "100", None, "CNY"),
        ("200-300元", "200", "300", "CNY"),
        ("200 到 300 块的", "200", "300", "CNY"),
        ("三百块左右", "240", "360", "CNY"),
        ("降噪耳机 1000以内", None, "1000", "CNY"),
        ("under $80", None, "80", "USD"),
        ("between $20 and $50", "20", "50", "USD"),
        ("no more than 1,200 yuan", None, "1200", "CNY"),
        ("over 30 euros", "30", None, "EUR"),
        ("8000 日元以下", None, "8000", "JPY"),
    ],
)
def test_price_bounds(words: str, minimum: str | None, maximum: str | None, currency: str) -> None:
    bounds = price_bounds(words)
    expected = tuple(None if amount is None else Decimal(amount) for amount in (minimum, maximum))
    assert ((bounds.minimum, bounds.maximum), bounds.currency) == (expected, currency)


@pytest.mark.parametrize("words", ["14 寸以内的", "我要两个", "3 个以内", "under 20 liters", "3 岁以上", "42 码"])
def test_measures_are_no_prices(words: str) -> None:
    assert price_bounds(words) == price_bounds("")


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("东西都寄德国", ["DE"]),
        ("这次寄到法国", ["FR"]),
        ("收货地是印度尼西亚", ["ID"]),
        ("在日本收货", ["JP"]),
        ("送给妈妈，她在日本", ["JP"]),
        ("ships to Germany", ["DE"]),
        ("please deliver to the US", ["US"]),
        ("I'm in Canada", ["CA"]),
        ("send us to the moon", []),
        ("日本的茶", []),
        ("发现德国品牌", []),
    ],
)
def test_shipping_mentions(words: str, codes: list[str]) -> None:
    assert [mention.code for mention in shipping_mentions(words)] == codes


def test_country_code_reads_a_remembered_value() -> None:
    assert (country_code("寄往德国"), country_code("Germany"), country_code("不知道")) == ("DE", "DE", None)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("我对坚果和牛奶过敏", ["坚果", "牛奶"]),
        ("推荐无坚果的零食", ["坚果"]),
        ("有没有不含花生的零食", ["花生"]),
        ("nut-free snacks", ["nut"]),
        ("without nuts or milk", ["nuts", "milk"]),
        ("not made of plastic", ["plastic"]),
        ("I'm vegan", ["vegan"]),
        ("我对火龙果过敏", ["火龙果"]),
        ("我对坚果不过敏", []),
        ("塑料的也可以了", []),
        ("坚果零食", []),
    ],
)
def test_avoidances(words: str, names: list[str]) -> None:
    assert [avoidance.name for avoidance in avoidances_in(words)] == names


@pytest.mark.parametrize(
    ("key", "value", "included"),
    [
        ("nut_allergy", "对坚果过敏", {"坚果", "nut", "花生", "peanut", "杏仁", "almond", "腰果", "核桃", "开心果"}),
        ("nut_allergy", "严重", {"坚果", "nut"}),
        ("material_avoid", "不要塑料", {"塑料", "plastic"}),
        ("diet", "吃素", {"猪肉", "gelatin"}),
        ("other_allergy", "对火龙果过敏", {"火龙果"}),
        ("food_avoid", "不吃折耳根", {"折耳根"}),
    ],
)
def test_a_remembered_constraint_becomes_exclusions(key: str, value: str, included: set[str]) -> None:
    assert included <= set(words_to_exclude(key, value))


@pytest.mark.parametrize(
    "value", ["塑料的也可以了", "我对坚果不过敏", "plastic is fine now", "no longer allergic to nuts"]
)
def test_what_was_taken_back_excludes_nothing(value: str) -> None:
    assert words_to_exclude("material_avoid", value) == []


@pytest.mark.parametrize(
    ("words", "queries"),
    [
        ("我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内", ["通勤双肩包"]),
        ("推荐几样办公室零食", ["办公室零食"]),
        ("有什么办公室零食推荐吗", ["办公室零食"]),
        ("找一个500元以内能寄德国的通勤双肩包", ["通勤双肩包"]),
        ("推荐不要塑料的水杯", ["水杯"]),
        ("想找一个双肩包和一个颈枕", ["双肩包", "颈枕"]),
        ("给我妈买件羽绒服", ["羽绒服"]),
        ("推荐点心", ["点心"]),
        ("I'm looking for a commuter backpack under $80 that ships to Germany", ["commuter backpack"]),
        ("Recommend some office snacks without nuts", ["office snacks"]),
        ("I need a backpack and a neck pillow", ["backpack", "neck pillow"]),
        ("remember I don't eat nuts and recommend some office snacks", ["office snacks"]),
        ("我对坚果过敏", []),
        ("谢谢", []),
        ("不要首饰，换一批", []),
        ("不要背包，找一个行李箱", ["行李箱"]),
        ("no watches please, recommend some jewellery", ["jewellery"]),
    ],
)
def test_queries(words: str, queries: list[str]) -> None:
    assert list(wishes_in(words).queries) == queries


@pytest.mark.parametrize(
    ("words", "to_remember"),
    [
        ("记住我不吃坚果", True),
        ("以后都寄日本", True),
        ("Please remember that I wear size M", True),
        ("always ship to Germany", True),
        ("东西都寄德国", False),
        ("你还记得我对什么过敏吗", False),
        ("do you remember my size?", False),
    ],
)
def test_who_asks_to_remember(words: str, to_remember: bool) -> None:
    assert bool(wishes_in(words).to_remember) is to_remember


def test_other_wishes() -> None:
    assert wishes_in("你还记得我对什么过敏吗").asks_what_is_known
    assert wishes_in("What do you remember about me?").asks_what_is_known
    assert wishes_in("把我的过敏删掉").asks_to_forget
    assert wishes_in("再便宜一点的").refines
    assert wishes_in("你好").small_talk is SmallTalk.GREETING


@pytest.mark.parametrize(
    "hostile",
    [" ", "对", "不要", "no ", "\n", "都", "1,", "以后寄", "([", "allergic to ", "不要黑色和", "no black or "],
)
def test_hostile_repetition_is_read_in_time(hostile: str) -> None:
    started = time.perf_counter()
    statements_in(readable(hostile * 8000))
    wishes_in(readable(hostile * 8000))
    assert time.perf_counter() - started < 2.0


def test_ordinary_words_are_read_unchanged() -> None:
    words = "哈哈哈哈哈！！我对坚果过敏，东西都寄德国。\n\n想找一个通勤双肩包，500 元以内"
    assert readable(words) == words
