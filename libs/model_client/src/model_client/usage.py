"""Reads what a call cost from the many shapes in which providers report it (facts/context.md 1.2).

One canon for all: `prompt_tokens` is the whole prompt, and what came from the cache or was written to it is a part of
it. Missing stays None and is never scored as 0; what contradicts itself is unknown. Later reports of one stream replace
earlier ones field by field, whatever is null: some servers send running totals with every chunk, some send the details
only in a second report.

| shape | prompt | cached |
|---|---|---|
| OpenAI, Qwen, vLLM, SGLang, llama.cpp | `prompt_tokens` | `prompt_tokens_details.cached_tokens` |
| OpenAI Responses | `input_tokens` | `input_tokens_details.cached_tokens` |
| DeepSeek | hit + miss | `prompt_cache_hit_tokens` |
| Moonshot (also inside `choices[0]`) | `prompt_tokens` | `cached_tokens` |
| Anthropic | `input_tokens` + read + created: three parts | `cache_read_input_tokens` |
| Gemini (`usageMetadata`) | `promptTokenCount` | `cachedContentTokenCount` |
| llama.cpp without `usage` (`timings`) | `prompt_n` + `cache_n` | `cache_n` |
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COUNT_LIMIT = 2**31
"""A count that does not fit into the table of model calls is not a count of tokens."""

_Path = tuple[str, ...]

# The first place that holds a count wins; two places never add up.
_INPUT: _Path = ("input_tokens",)
_PROMPT: tuple[_Path, ...] = (("prompt_tokens",), _INPUT, ("promptTokenCount",))
_CACHED: tuple[_Path, ...] = (
    ("prompt_tokens_details", "cached_tokens"),
    ("input_tokens_details", "cached_tokens"),
    ("prompt_cache_hit_tokens",),
    ("cached_tokens",),
    ("cache_read_input_tokens",),
    ("cachedContentTokenCount",),
    ("timings", "cache_n"),
)
_WRITTEN: tuple[_Path, ...] = (
    *(
        (details, name)
        for details in ("prompt_tokens_details", "input_tokens_details")
        for name in ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
    ),
    ("cache_write_tokens",),
    ("cache_creation_input_tokens",),
)
_COMPLETION: tuple[_Path, ...] = (("completion_tokens",), ("output_tokens",), ("timings", "predicted_n"))
_REASONING: tuple[_Path, ...] = (
    ("completion_tokens_details", "reasoning_tokens"),
    ("output_tokens_details", "reasoning_tokens"),
    ("reasoning_tokens",),
    ("thoughtsTokenCount",),
)


@dataclass(frozen=True)
class ModelUsage:
    """Tokens of one call. Of `prompt_tokens`, `cached_tokens` came from the provider's cache and `cache_write_tokens`
    were written to it for a price; of `completion_tokens`, `reasoning_tokens` were thought and not said."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def reported(self) -> bool:
        """Whether the provider told how much of the prompt was cached: only such calls count in a cache rate."""
        return self.prompt_tokens is not None and self.cached_tokens is not None


class UsageReports:
    """All that one stream tells of its cost, chunk by chunk."""

    def __init__(self) -> None:
        self._told: dict[str, Any] = {}

    def add(self, chunk: Mapping[str, Any], choice: Mapping[str, Any] | None) -> None:
        """Take in what the chunk, or its first choice, tells."""
        for report in (chunk.get("usage"), chunk.get("usageMetadata"), (choice or {}).get("usage")):
            if isinstance(report, Mapping):
                self._merge(report)
        if isinstance(timings := chunk.get("timings"), Mapping):
            self._merge({"timings": timings})

    def read(self) -> ModelUsage:
        return read_usage(self._told)

    def _merge(self, report: Mapping[str, Any]) -> None:
        for name, value in report.items():
            if isinstance(value, Mapping):
                earlier = self._told.get(name)
                details = {inner: count for inner, count in value.items() if count is not None}
                self._told[name] = {**(earlier if isinstance(earlier, dict) else {}), **details}
            elif value is not None:
                self._told[name] = value


def read_usage(report: Mapping[str, Any]) -> ModelUsage:
    """The canon of a report in any shape."""
    prompt, cached, written = _prompt(report), _first(report, _CACHED), _first(report, _WRITTEN)
    completion, reasoning = _completion(report), _first(report, _REASONING)
    cached = _part_of(prompt, cached)
    return ModelUsage(
        prompt_tokens=prompt,
        cached_tokens=cached,
        completion_tokens=completion,
        cache_write_tokens=_part_of(None if prompt is None else prompt - (cached or 0), written),
        reasoning_tokens=_part_of(completion, reasoning),
    )


def _prompt(report: Mapping[str, Any]) -> int | None:
    if _is_disjoint(report):
        return _sum(report, _INPUT, optional=(("cache_read_input_tokens",), ("cache_creation_input_tokens",)))
    told = _first(report, _PROMPT)
    if told is None:
        told = _sum(report, ("prompt_cache_hit_tokens",), ("prompt_cache_miss_tokens",))
    if told is None:
        told = _sum(report, ("timings", "cache_n"), ("timings", "prompt_n"))
    return told


def _is_disjoint(report: Mapping[str, Any]) -> bool:
    """Anthropic's `input_tokens` is what was neither read from the cache nor written to it."""
    inclusive = "prompt_tokens" in report or "input_tokens_details" in report
    split = "cache_read_input_tokens" in report or "cache_creation_input_tokens" in report
    return "input_tokens" in report and split and not inclusive


def _completion(report: Mapping[str, Any]) -> int | None:
    told = _first(report, _COMPLETION)
    # Gemini counts its thoughts apart.
    return told if told is not None else _sum(report, ("candidatesTokenCount",), optional=(("thoughtsTokenCount",),))


def _part_of(whole: int | None, part: int | None) -> int | None:
    """The part, unless it is larger than the whole: that was counted by another rule than ours."""
    return None if part is None or (whole is not None and part > whole) else part


def _sum(report: Mapping[str, Any], *needed: _Path, optional: tuple[_Path, ...] = ()) -> int | None:
    """The sum, or None where one that is needed is missing."""
    counts = [_count(report, path) for path in needed]
    known = [count for count in counts if count is not None]
    total = sum(known) + sum(_count(report, path) or 0 for path in optional)
    return total if len(known) == len(counts) and total < _COUNT_LIMIT else None


def _first(report: Mapping[str, Any], paths: tuple[_Path, ...]) -> int | None:
    return next((count for path in paths if (count := _count(report, path)) is not None), None)


def _count(report: Mapping[str, Any], path: _Path) -> int | None:
    value: object = report
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _COUNT_LIMIT
    return value if is_count else None  # type: ignore[return-value]
