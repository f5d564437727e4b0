"""The simulated prefix caches, each against prompts whose hits can be counted by hand."""

import asyncio
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offline_model.errors import InvalidRequest
from offline_model.prefix_cache.blocks import BlockCache
from offline_model.prefix_cache.boundaries import BoundaryCache
from offline_model.prefix_cache.marks import MarkedCache
from offline_model.prefix_cache.policies import CachePolicy, prefix_cache_of
from offline_model.prefix_cache.simulation import CacheRead, PrefixCache
from offline_model.prompts import Prompt

NOTHING = array("I")


class StoppedClock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


def numbers(length: int, first: int = 0) -> "array[int]":
    return array("I", range(first, first + length))


def plain(length: int, first: int = 0) -> Prompt:
    return Prompt(numbers(length, first))


def changed(length: int, at: int) -> Prompt:
    tokens = numbers(length)
    tokens[at] = 7_000_000
    return Prompt(tokens)


def ask(cache: PrefixCache, prompt: Prompt, answer: Sequence[int] = (), model: str = "m") -> CacheRead:
    """One request from its arrival to the end of its answer."""
    found = cache.read(model, prompt)
    cache.keep(model, prompt, array("I", answer))
    return found


def cached(cache: PrefixCache, prompt: Prompt, answer: Sequence[int] = (), model: str = "m") -> int:
    return ask(cache, prompt, answer, model).cached


# Every policy

Sent = list[tuple[Prompt, "array[int]"]]

_texts = st.lists(st.integers(0, 2), max_size=6)


@st.composite
def conversations(draw: st.DrawFn) -> Sent:
    """Requests that extend, repeat or leave earlier ones, their texts far longer than a block."""
    sent: Sent = []
    for _ in range(draw(st.integers(1, 8))):
        blocks = [NOTHING] if not sent or draw(st.booleans()) else _blocks_of(draw(st.sampled_from(sent)))
        blocks = blocks[: draw(st.integers(1, len(blocks)))]
        for symbol in draw(_texts):
            blocks.append(array("I", [symbol]) * draw(st.integers(1, 1200)))
        sent.append((_prompt(blocks, draw), array("I", [draw(st.integers(0, 2))]) * draw(st.integers(0, 300))))
    return sent


def _blocks_of(request: "tuple[Prompt, array[int]]") -> "list[array[int]]":
    prompt, answer = request
    starts = [0, *prompt.block_ends]
    return [*(prompt.tokens[a:b] for a, b in zip(starts, prompt.block_ends, strict=False)), answer]


def _prompt(blocks: "list[array[int]]", draw: st.DrawFn) -> Prompt:
    tokens, ends = array("I"), []
    for block in blocks:
        tokens += block
        ends.append(len(tokens))
    tokens += array("I", [9])  # where the model goes on
    marks = draw(st.sets(st.integers(0, len(blocks) - 1), max_size=4))
    return Prompt(tokens, tuple(ends), tuple(sorted(marks)))


def _common(one: "array[int]", other: "array[int]") -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


@pytest.mark.parametrize("policy", CachePolicy)
@settings(max_examples=60, deadline=None)
@given(sent=conversations())
def test_no_policy_reports_more_than_was_sent_before(policy: CachePolicy, sent: Sent) -> None:
    cache = prefix_cache_of(policy, StoppedClock())
    before: list[array[int]] = []
    for prompt, answer in sent:
        found = ask(cache, prompt, answer)
        longest = max((_common(prompt.tokens, text) for text in before), default=0)
        assert 0 <= found.cached <= min(longest, len(prompt) - 1)
        assert found.written is None or 0 <= found.written <= len(prompt) - found.cached
        before.append(prompt.tokens + answer)


@pytest.mark.parametrize("policy", CachePolicy)
def test_models_share_nothing_and_clearing_leaves_nothing(policy: CachePolicy) -> None:
    cache = prefix_cache_of(policy, StoppedClock())
    first = Prompt(numbers(3000), (2990,), (0,))
    longer = Prompt(numbers(3600), (2990, 3590), (1,))
    assert cached(cache, first) == 0
    assert cached(cache, longer, model="other") == 0
    assert cached(cache, longer) > 2000
    cache.clear()
    assert cached(cache, longer) == 0


@pytest.mark.parametrize("policy", CachePolicy)
def test_a_request_leaves_nothing_before_its_answer_has_ended(policy: CachePolicy) -> None:
    cache = prefix_cache_of(policy, StoppedClock())
    prompt, longer = Prompt(numbers(3000), (2990,), (0,)), Prompt(numbers(3600), (2990, 3590), (1,))
    cache.read("m", prompt)
    assert cache.read("m", longer).cached == 0
    cache.keep("m", prompt, NOTHING)
    assert cache.read("m", longer).cached > 2000


# Blocks


@pytest.mark.parametrize(
    ("policy", "again", "extended"),
    [
        # 3000 tokens, of which the last is always computed; then 3000 known of 4000.
        (CachePolicy.BLOCK16, 2992, 2992),  # 187 blocks
        (CachePolicy.BLOCK64, 2944, 2944),  # 46 blocks
        (CachePolicy.BLOCK128, 2944, 2944),  # 23 blocks
        (CachePolicy.BLOCK256, 2816, 2816),  # 11 blocks
        (CachePolicy.BLOCK528, 2640, 2640),  # 5 blocks
    ],
)
def test_a_prompt_is_cached_in_whole_blocks_once_it_was_sent(policy: CachePolicy, again: int, extended: int) -> None:
    cache = prefix_cache_of(policy, StoppedClock())
    assert cached(cache, plain(3000)) == 0
    assert cached(cache, plain(3000)) == again
    assert cached(cache, plain(4000)) == extended


@pytest.mark.parametrize(
    ("policy", "hit"),
    [
        # Token 2000 is another: block n covers [n * size, (n + 1) * size).
        (CachePolicy.BLOCK16, 2000),
        (CachePolicy.BLOCK64, 1984),
        (CachePolicy.BLOCK128, 1920),
        (CachePolicy.BLOCK256, 1792),
        (CachePolicy.BLOCK528, 1584),
    ],
)
def test_a_difference_ends_the_hit_in_its_block(policy: CachePolicy, hit: int) -> None:
    cache = prefix_cache_of(policy, StoppedClock())
    cached(cache, plain(3000))
    assert cached(cache, changed(3000, at=2000)) == hit


@pytest.mark.parametrize(
    ("policy", "below", "from_here"),
    [
        (CachePolicy.BLOCK16, 15, 16),
        (CachePolicy.BLOCK64, 63, 64),
        (CachePolicy.BLOCK128, 1023, 1024),
        (CachePolicy.BLOCK256, 255, 256),
        (CachePolicy.BLOCK528, 527, 528),
    ],
)
def test_below_the_minimum_nothing_is_reported(policy: CachePolicy, below: int, from_here: int) -> None:
    for common, hit in ((below, 0), (from_here, from_here)):
        cache = prefix_cache_of(policy, StoppedClock())
        cached(cache, plain(2000))
        assert cached(cache, changed(2000, at=common)) == hit


def test_the_last_token_is_always_computed() -> None:
    cache = BlockCache(block=128, minimum=1024)
    cached(cache, plain(2048))
    assert cached(cache, plain(2048)) == 2048 - 128


def test_memory_for_blocks_is_bounded_and_heads_outlive_tails() -> None:
    cache = BlockCache(block=128, minimum=1024, capacity=20)
    cached(cache, plain(128 * 16))
    cached(cache, plain(128 * 8, first=1_000_000))
    assert cached(cache, plain(128 * 16)) == 128 * 12


def test_a_block_that_is_read_stays() -> None:
    cache = BlockCache(block=128, minimum=128, capacity=16)
    cached(cache, plain(128 * 8))
    cached(cache, plain(128 * 8, first=1_000_000))
    cache.read("m", plain(128 * 8 + 1))
    cached(cache, plain(128 * 8, first=2_000_000))
    assert cache.read("m", plain(128 * 8 + 1)).cached == 128 * 8


# Exact boundaries


def test_only_an_entire_earlier_prompt_or_answer_is_a_hit() -> None:
    cache = BoundaryCache()
    answer = numbers(50, first=1000)
    assert cached(cache, plain(1000), answer) == 0
    assert cached(cache, plain(1200)) == 1050  # the prompt and what was answered
    assert cached(cache, changed(1100, at=1049)) == 1000  # another last token of the answer: only the prompt
    assert cached(cache, changed(1100, at=999)) == 0  # one token of the prompt: nothing
    assert cached(cache, plain(999)) == 0  # cut short: nothing


def test_the_longest_boundary_counts() -> None:
    cache = BoundaryCache()
    for length in (1000, 3000, 2000):
        cached(cache, plain(length))
    assert cached(cache, plain(2500)) == 2000


def test_the_same_prompt_finds_the_boundary_before_its_own() -> None:
    cache = BoundaryCache()
    cached(cache, plain(1000), [5])
    cached(cache, plain(2000), [5])
    assert cached(cache, plain(2000)) == 1000


def test_memory_for_boundaries_is_bounded() -> None:
    cache = BoundaryCache(capacity=4)
    for first in (0, 10_000, 20_000):
        cached(cache, plain(100, first), [1])
    assert cached(cache, plain(200, 20_000)) == 100
    assert cached(cache, plain(200, 0)) == 0
    assert cache._ordered_lengths == sorted(set(cache._known.values()))
    assert len(cache._known) == 4


# Marks


def blocks(sizes: Sequence[int], marks: Sequence[int]) -> Prompt:
    """A prompt of blocks of these sizes, the marked ones among them, and one token where the model goes on."""
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    return Prompt(numbers(ends[-1] + 1), tuple(ends), tuple(marks))


def marked(clock: StoppedClock | None = None) -> MarkedCache:
    return MarkedCache(clock or StoppedClock())


def test_what_stands_before_a_mark_is_written_and_then_read() -> None:
    cache = marked()
    assert ask(cache, blocks([2000, 300], [0])) == CacheRead(0, written=2000)
    assert ask(cache, blocks([2000, 300, 400], [0])) == CacheRead(2000, written=0)


def test_without_a_mark_nothing_is_written_or_read() -> None:
    cache = marked()
    assert ask(cache, blocks([2000, 300], [])) == CacheRead(0, written=0)
    ask(cache, blocks([2000, 300], [1]))
    assert ask(cache, blocks([2000, 300], [])) == CacheRead(0, written=0)
    assert ask(cache, blocks([2000, 300], [0])) == CacheRead(0, written=2000)  # written at 2300, looked for at 2000


def test_a_later_mark_finds_an_earlier_one_by_looking_back() -> None:
    cache = marked()
    ask(cache, blocks([2000, 300], [1]))
    assert ask(cache, blocks([2000, 300, 100, 100], [3])) == CacheRead(2300, written=200)


@pytest.mark.parametrize(("added", "hit"), [(19, 2000), (20, 0)])
def test_a_mark_looks_back_over_twenty_blocks_itself_included(added: int, hit: int) -> None:
    cache = marked()
    ask(cache, blocks([2000], [0]))
    assert cached(cache, blocks([2000, *[10] * added], [added])) == hit


def test_a_second_mark_bridges_what_one_cannot() -> None:
    cache = marked()
    ask(cache, blocks([2000], [0]))
    assert ask(cache, blocks([2000, *[10] * 30], [0, 30])) == CacheRead(2000, written=300)


def test_a_prefix_below_the_minimum_is_not_written() -> None:
    cache = marked()
    assert ask(cache, blocks([1023, 500], [0])) == CacheRead(0, written=0)
    assert ask(cache, blocks([1023, 500], [0])) == CacheRead(0, written=0)
    assert ask(cache, blocks([1024, 500], [0])) == CacheRead(0, written=1024)
    assert ask(cache, blocks([1024, 500], [0])) == CacheRead(1024, written=0)


def test_five_minutes_unused_and_it_is_gone_but_each_hit_renews_it() -> None:
    clock = StoppedClock()
    cache = marked(clock)
    prompt = blocks([2000, 300], [0])
    ask(cache, prompt)
    for _ in range(3):
        clock.seconds += 299
        assert cached(cache, prompt) == 2000
    clock.seconds += 300
    assert cached(cache, prompt) == 0


def test_a_hit_found_by_looking_back_renews_too() -> None:
    clock = StoppedClock()
    cache = marked(clock)
    ask(cache, blocks([2000, 300], [0]))
    clock.seconds += 200
    assert cache.read("m", blocks([2000, 300], [1])).cached == 2000
    clock.seconds += 200
    assert cache.read("m", blocks([2000, 300], [0])).cached == 2000


def test_a_fifth_mark_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        marked().read("m", blocks([2000] * 5, [0, 1, 2, 3, 4]))


def test_memory_for_marks_is_bounded() -> None:
    cache = MarkedCache(StoppedClock(), capacity=2)
    for size in (2000, 3000, 4000):
        ask(cache, blocks([size], [0]))
    assert cached(cache, blocks([2000, 1], [0])) == 0
    assert cached(cache, blocks([4000, 1], [0])) == 4000
