"""When two values say the same, when they contradict each other, and what keys have to do with it."""

import pytest

from common.memory_api.facts import MemoryCategory
from memory.facts.gate import ValidFact
from memory.facts.relations import KnownFact, relations_of
from memory.facts.similarity import contradicts, same_fact


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("对坚果过敏", "对坚果过敏"),
        ("对坚果过敏", " 我对坚果 过敏 "),
        ("一直偏爱小众设计师品牌", "偏爱小众设计师品牌"),
        ("不要塑料", "不用塑料的"),
        ("Likes Blue", "I really love blue"),
        ("likes long walks on quiet beaches", "likes long walks on beaches"),
    ],
)
def test_the_same(known: str, new: str) -> None:
    assert same_fact(known, new)
    assert not contradicts(known, new)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("对坚果过敏", "喜欢小众品牌"),
        ("likes running and cycling", "likes running, cycling and yoga"),
        ("偏爱小众设计师品牌", "偏爱小众设计师家具"),
        ("喜欢红色，不喜欢蓝色", "喜欢蓝色，不喜欢红色"),
        ("冬天的外套只穿羊毛的除雨衣", "冬天的外套只穿羊毛的"),
        ("对花生过敏", "对花生酱过敏"),
        ("a", "b"),
    ],
)
def test_what_adds_or_changes_a_word_is_not_the_same(known: str, new: str) -> None:
    assert not same_fact(known, new)


CONTRADICTIONS = [
    ("对坚果过敏", "对坚果不过敏"),
    ("不要塑料", "塑料的也可以了"),
    ("喜欢红色", "讨厌红色"),
    ("likes spicy food", "dislikes spicy food"),
    ("allergic to nuts", "no longer allergic to nuts"),
    ("never eats pork", "eats pork now"),
    ("平时穿 42 码的鞋", "平时穿 43 码的鞋"),
    ("weighs 60 kg", "weighs 60 lb"),
    ("买衣服一般不超过 300 元", "买衣服一般不超过 300 美元"),
    ("喜欢宽松的版型", "喜欢修身的版型"),
    ("喜欢喝浓茶", "喜欢喝淡茶"),
    ("prefers window seats", "prefers aisle seats"),
    ("wears size M", "wears size L"),
]


@pytest.mark.parametrize(("known", "new"), CONTRADICTIONS)
def test_what_cannot_hold_beside_the_other_is_a_contradiction(known: str, new: str) -> None:
    assert contradicts(known, new)
    assert contradicts(new, known)
    assert not same_fact(known, new)
    assert not same_fact(new, known)


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("对花生过敏", "对牛奶不过敏"),
        ("对花生过敏", "喜欢花生图案的杯子"),
        ("我妈对坚果过敏", "对坚果不过敏"),
        ("my mother likes red", "my father dislikes red"),
        ("鞋码 42", "衬衫 40 码"),
        ("女儿 3 岁", "儿子 5 岁"),
        ("dislikes coffee", "likes coffee tables"),
        ("dislikes fantasy novels", "likes fantasy novels with creative themes"),
        ("喜欢红色", "不喜欢红色的鞋"),
        ("不吃坚果", "不吃海鲜"),
    ],
)
def test_what_holds_beside_the_other_is_none(known: str, new: str) -> None:
    assert not contradicts(known, new)
    assert not contradicts(new, known)


def fact(key: str, value: str) -> ValidFact:
    return ValidFact(key, value, MemoryCategory.CONTEXT)


def test_a_bare_value_says_something_only_under_its_key() -> None:
    known = [KnownFact("shoe_size", "42"), KnownFact("default_ship_to", "德国")]
    assert relations_of(fact("clothing_size", "42"), known).same is None
    assert relations_of(fact("shoe_size_eu", "42"), known).same == known[0]
    assert relations_of(fact("ship_to_country", "法国"), known).contradicted == [known[1]]
    assert relations_of(fact("travel_wish", "法国"), known).contradicted == []


def test_the_facts_own_key_comes_first() -> None:
    known = [KnownFact("allergy", "对坚果过敏"), KnownFact("nut_allergy", "对坚果过敏")]
    assert relations_of(fact("nut_allergy", "我对坚果过敏"), known).same == known[1]


def test_a_contradiction_under_its_own_key_is_an_ordinary_update() -> None:
    known = [KnownFact("nut_allergy", "对坚果过敏"), KnownFact("food_rule", "对坚果过敏")]
    assert relations_of(fact("nut_allergy", "对坚果不过敏"), known).contradicted == [known[1]]
