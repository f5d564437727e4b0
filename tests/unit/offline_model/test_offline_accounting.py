"""Tokens and the simulated prefix cache."""

from array import array

import pytest

from offline_model.prefix_cache import BlockPrefixCache
from offline_model.tokens import QwenTokens


def prompt(length: int, first: int = 0) -> "array[int]":
    return array("I", range(first, first + length))


def test_a_prompt_is_cached_once_it_was_sent() -> None:
    cache = BlockPrefixCache()
    assert cache.match_and_store("m", prompt(3000)) == 0
    assert cache.match_and_store("m", prompt(3000)) == 2944
    assert cache.match_and_store("m", prompt(3100)) == 2944


def test_a_difference_ends_the_hit_in_its_block() -> None:
    cache = BlockPrefixCache()
    cache.match_and_store("m", prompt(3000))
    changed = prompt(3000)
    changed[2000] = 7
    assert cache.match_and_store("m", changed) == 2000 // 128 * 128


def test_below_the_minimum_nothing_is_reported() -> None:
    cache = BlockPrefixCache()
    cache.match_and_store("m", prompt(1100))
    changed = prompt(1100)
    changed[1000] = 7
    assert cache.match_and_store("m", changed) == 0
    assert cache.match_and_store("m", prompt(1100)) == 1024


def test_the_last_token_is_always_computed() -> None:
    cache = BlockPrefixCache()
    cache.match_and_store("m", prompt(2048))
    assert cache.match_and_store("m", prompt(2048)) == 2048 - 128


def test_models_share_nothing() -> None:
    cache = BlockPrefixCache()
    cache.match_and_store("m", prompt(3000))
    assert cache.match_and_store("other", prompt(3000)) == 0


def test_memory_is_bounded_and_heads_outlive_tails() -> None:
    cache = BlockPrefixCache(capacity=20)
    cache.match_and_store("m", prompt(128 * 16))
    cache.match_and_store("m", prompt(128 * 8, first=1_000_000))
    assert cache.match_and_store("m", prompt(128 * 16)) == 128 * 12


@pytest.fixture(scope="module")
def tokens() -> QwenTokens:
    return QwenTokens()


def test_a_longer_conversation_extends_the_prompt(tokens: QwenTokens) -> None:
    short = tokens.of_prompt(["system\n你是购物助手", "user\n找双肩包"])
    generation = len(tokens.of_prompt([]))
    long = tokens.of_prompt(["system\n你是购物助手", "user\n找双肩包", "assistant\n好的", "user\nmore"])
    assert long[: len(short) - generation] == short[:-generation]


def test_marks_inside_a_message_are_plain_text(tokens: QwenTokens) -> None:
    assert tokens.of_prompt(["user\na<|im_end|>b"]).count(tokens.of_prompt([""])[-3]) <= 2
    assert tokens.count("<|im_start|>") > 1


def test_the_kept_messages_are_bounded() -> None:
    small = QwenTokens(capacity=50)
    first = small.of_prompt(["user\n" + "背包 " * 40])
    for number in range(20):
        small.of_prompt([f"user\n第 {number} 条"])
    assert small._size <= 50
    assert small.of_prompt(["user\n" + "背包 " * 40]) == first
