"""One canon out of every shape in which a call's cost is reported (facts/context.md 1.2)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_client.profiles import PROFILES, UsageShape
from model_client.usage import ModelUsage, UsageReports

Cost = tuple[int | None, int | None, int | None, int | None, int | None]
"""Prompt, cached, written to the cache, completion, reasoning."""


def cost_of(*chunks: dict[str, Any]) -> Cost:
    reports = UsageReports()
    for chunk in chunks:
        choices = chunk.get("choices") or [None]
        reports.add(chunk, choices[0])
    return as_cost(reports.read())


def as_cost(usage: ModelUsage) -> Cost:
    return (
        usage.prompt_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.completion_tokens,
        usage.reasoning_tokens,
    )


def of(**usage: Any) -> dict[str, Any]:
    return {"choices": [], "usage": usage}


OPENAI = of(
    prompt_tokens=2_006,
    completion_tokens=300,
    total_tokens=2_306,
    prompt_tokens_details={"cached_tokens": 1_920, "audio_tokens": 0},
    completion_tokens_details={"reasoning_tokens": 64},
)
DEEPSEEK = of(prompt_tokens=1_000, completion_tokens=20, prompt_cache_hit_tokens=960, prompt_cache_miss_tokens=40)
ANTHROPIC = of(input_tokens=50, output_tokens=20, cache_read_input_tokens=10_000, cache_creation_input_tokens=200)
GEMINI = {
    "usageMetadata": {
        "promptTokenCount": 5_000,
        "cachedContentTokenCount": 4_096,
        "candidatesTokenCount": 30,
        "thoughtsTokenCount": 12,
    }
}
OLLAMA = of(prompt_tokens=900, completion_tokens=12, total_tokens=912)

SHAPES: dict[str, tuple[dict[str, Any], Cost]] = {
    "OpenAI": (OPENAI, (2_006, 1_920, None, 300, 64)),
    "OpenAI 5.6 writes": (
        of(
            prompt_tokens=2_000,
            completion_tokens=1,
            prompt_tokens_details={"cached_tokens": 0, "cache_write_tokens": 1_990},
        ),
        (2_000, 0, 1_990, 1, None),
    ),
    "OpenAI Responses": (
        of(
            input_tokens=100,
            output_tokens=9,
            input_tokens_details={"cached_tokens": 64},
            output_tokens_details={"reasoning_tokens": 4},
        ),
        (100, 64, None, 9, 4),
    ),
    "Qwen explicit, nested": (
        of(prompt_tokens=3_000, prompt_tokens_details={"cached_tokens": 0, "cache_creation_input_tokens": 2_900}),
        (3_000, 0, 2_900, None, None),
    ),
    "a gateway, at the top": (
        of(prompt_tokens=3_000, cache_read_input_tokens=2_000, cache_creation_input_tokens=500),
        (3_000, 2_000, 500, None, None),
    ),
    "vLLM without the flag": (of(prompt_tokens=10, prompt_tokens_details=None), (10, None, None, None, None)),
    "nothing cached": (of(prompt_tokens=10, prompt_tokens_details={"cached_tokens": 0}), (10, 0, None, None, None)),
    "DeepSeek": (DEEPSEEK, (1_000, 960, None, 20, None)),
    "DeepSeek, hit and miss only": (
        of(prompt_cache_hit_tokens=960, prompt_cache_miss_tokens=40),
        (1_000, 960, None, None, None),
    ),
    "Moonshot": (of(prompt_tokens=10, cached_tokens=6), (10, 6, None, None, None)),
    "Moonshot in the choice": (
        {"choices": [{"delta": {}, "usage": {"prompt_tokens": 5, "cached_tokens": 1}}]},
        (5, 1, None, None, None),
    ),
    "Anthropic, three parts": (ANTHROPIC, (10_250, 10_000, 200, 20, None)),
    "Anthropic, nothing cached": (
        of(input_tokens=50, cache_read_input_tokens=0, cache_creation_input_tokens=None),
        (50, 0, None, None, None),
    ),
    "Gemini": (GEMINI, (5_000, 4_096, None, 42, 12)),
    "llama.cpp timings": (
        {"choices": [], "timings": {"cache_n": 236, "prompt_n": 14, "predicted_n": 8}},
        (250, 236, None, 8, None),
    ),
    "usage before timings": (
        {
            **of(prompt_tokens=250, prompt_tokens_details={"cached_tokens": 200}),
            "timings": {"cache_n": 9, "prompt_n": 1},
        },
        (250, 200, None, None, None),
    ),
    "Ollama": (OLLAMA, (900, None, None, 12, None)),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(shape: str) -> None:
    chunk, expected = SHAPES[shape]
    assert cost_of(chunk) == expected


EXAMPLE_OF = {
    UsageShape.DETAILS: OPENAI,
    UsageShape.HIT_AND_MISS: DEEPSEEK,
    UsageShape.DISJOINT: ANTHROPIC,
    UsageShape.NOTHING: OLLAMA,
}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_shape_of_every_profile_is_read(profile: str) -> None:
    shape = PROFILES[profile].usage
    _, cached, *_ = cost_of(EXAMPLE_OF[shape])
    assert (cached is None) == (shape is UsageShape.NOTHING)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param((), (None,) * 5, id="absent"),
        pytest.param(({"usage": None}, {"usage": "unknown"}, {"usage": []}), (None,) * 5, id="no report"),
        pytest.param(
            (of(prompt_tokens=10, completion_tokens=1), of(prompt_tokens=10, completion_tokens=9)),
            (10, None, None, 9, None),
            id="running totals replace",
        ),
        pytest.param(
            (of(prompt_tokens=10), of(prompt_tokens=None, prompt_tokens_details={"cached_tokens": 8})),
            (10, 8, None, None, None),
            id="twice, the details later",
        ),
        pytest.param(
            (
                of(prompt_tokens_details={"cached_tokens": 8}),
                of(prompt_tokens=10, prompt_tokens_details={"audio_tokens": 0}),
            ),
            (10, 8, None, None, None),
            id="details that forget the first",
        ),
        pytest.param(
            (
                of(prompt_tokens=10, prompt_tokens_details={"cached_tokens": 8}),
                of(prompt_tokens_details={"cached_tokens": None}),
            ),
            (10, 8, None, None, None),
            id="details that become null",
        ),
        pytest.param(
            (of(input_tokens=25, cache_read_input_tokens=1_000, cache_creation_input_tokens=0), of(output_tokens=7)),
            (1_025, 1_000, 0, 7, None),
            id="Anthropic's parts in two reports",
        ),
        pytest.param(
            (
                of(input_tokens=1_025, output_tokens=1),
                of(input_tokens=25, cache_read_input_tokens=1_000, output_tokens=7),
            ),
            (1_025, 1_000, None, 7, None),
            id="Anthropic's split only in the last",
        ),
    ],
)
def test_several_reports_are_one(chunks: tuple[dict[str, Any], ...], expected: Cost) -> None:
    assert cost_of(*chunks) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "cached_tokens": 99}, (10, None, None, None, None)),
        ({"prompt_tokens": 10, "cached_tokens": 6, "cache_write_tokens": 5}, (10, 6, None, None, None)),
        ({"completion_tokens": 5, "reasoning_tokens": 6}, (None, None, None, 5, None)),
        ({"prompt_tokens": -1, "completion_tokens": "3"}, (None,) * 5),
        ({"prompt_tokens": True, "completion_tokens": 1.0}, (None,) * 5),
        ({"prompt_tokens": 2**31, "completion_tokens": 2**31 - 1}, (None, None, None, 2**31 - 1, None)),
    ],
)
def test_what_contradicts_itself_or_is_no_count_is_unknown(usage: dict[str, Any], expected: Cost) -> None:
    assert cost_of(of(**usage)) == expected


def test_the_first_place_counts_and_no_two_are_added() -> None:
    everywhere = of(
        prompt_tokens=100, prompt_tokens_details={"cached_tokens": 10}, prompt_cache_hit_tokens=20, cached_tokens=30
    )
    assert cost_of(everywhere)[1] == 10


def test_a_call_counts_in_a_rate_only_where_both_numbers_are_known() -> None:
    assert ModelUsage(10, 0).reported
    assert not ModelUsage(10, None).reported
    assert not ModelUsage(None, 0).reported


_NAMES = (
    "prompt_tokens", "input_tokens", "cached_tokens", "prompt_cache_hit_tokens", "prompt_cache_miss_tokens",
    "cache_read_input_tokens", "cache_creation_input_tokens", "cache_write_tokens", "completion_tokens",
    "promptTokenCount", "cachedContentTokenCount",
)  # fmt: skip
_COUNTS = st.one_of(st.integers(-2, 40), st.sampled_from((None, True, "3", 2**31, 2**32)))
_REPORTS = st.builds(
    lambda flat, details: {**flat, "prompt_tokens_details": details},
    st.dictionaries(st.sampled_from(_NAMES), _COUNTS, max_size=5),
    st.dictionaries(st.sampled_from(("cached_tokens", "cache_write_tokens")), _COUNTS),
)


@given(st.lists(_REPORTS, max_size=3))
def test_the_parts_never_exceed_the_whole(reports: list[dict[str, Any]]) -> None:
    prompt, cached, written, _, _ = cost_of(*(of(**report) for report in reports))
    assert all(count is None or 0 <= count < 2**31 for count in (prompt, cached, written))
    if prompt is not None:
        assert (cached or 0) + (written or 0) <= prompt
