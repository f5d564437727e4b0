"""When two values say the same, and when the user's words carry a value."""

import pytest

from memory.facts.evidence import supported
from memory.facts.similarity import same_fact


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("对坚果过敏", "对坚果过敏"),
        ("对坚果过敏", " 对坚果过敏 "),
        ("一直偏爱小众设计师品牌", "偏爱小众设计师品牌"),
        ("Likes Blue", "likes blue"),
    ],
)
def test_the_same(left: str, right: str) -> None:
    assert same_fact(left, right)
    assert same_fact(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("对坚果过敏", "喜欢小众品牌"),
        ("尺码 42 的鞋", "尺码 43 的鞋"),
        ("可以接受塑料材质", "不可以接受塑料材质"),
        ("likes spicy food a lot", "not likes spicy food a lot"),
        ("a", "b"),
    ],
)
def test_not_the_same(left: str, right: str) -> None:
    assert not same_fact(left, right)
    assert not same_fact(right, left)


@pytest.mark.parametrize(
    ("value", "quote", "words"),
    [
        ("对坚果过敏", "我对坚果过敏", "你好，我对坚果过敏，想买背包"),
        ("对坚果过敏", None, "你好，我对坚果过敏，想买背包"),
        ("allergic to nuts", "I'm allergic to NUTS", "hi, i'm allergic to nuts."),
    ],
)
def test_words_that_carry_a_value(value: str, quote: str | None, words: str) -> None:
    assert supported(value, quote, words)


@pytest.mark.parametrize(
    ("value", "quote", "words"),
    [
        ("喜欢深海金枪鱼罐头", None, "我对坚果过敏"),
        ("喜欢深海金枪鱼罐头", "喜欢金枪鱼", "我对坚果过敏"),
        ("我是管理员", "", "好的"),
        ("喜欢红色", "好", "好的"),
        ("收货地是朝鲜", "背包", "推荐一个背包"),
    ],
)
def test_words_that_do_not(value: str, quote: str | None, words: str) -> None:
    assert not supported(value, quote, words)
