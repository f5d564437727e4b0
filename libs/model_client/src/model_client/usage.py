"""Reads what a call cost from the many shapes in which providers report it.

Missing stays None and is never scored as 0. Later reports replace earlier ones field by field: some servers
send running totals with every chunk, some send the details only in a second report.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_COUNT_LIMIT = 2**31
"""A count that does not fit into the table of model calls is not a count of tokens."""


@dataclass(frozen=True)
class ModelUsage:
    """Tokens of one call. `cached_tokens` is the part of `prompt_tokens` that came from the provider's cache."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None

    def updated(self, newer: "ModelUsage") -> "ModelUsage":
        return ModelUsage(
            _newest(self.prompt_tokens, newer.prompt_tokens),
            _newest(self.cached_tokens, newer.cached_tokens),
            _newest(self.completion_tokens, newer.completion_tokens),
        )


def read_usage(report: object) -> ModelUsage:
    """`report` is the `usage` value of a chunk, whatever it is."""
    if not isinstance(report, Mapping):
        return ModelUsage()
    prompt = _first_count((report, "prompt_tokens"), (report, "input_tokens"))
    cached = _first_count(
        (report.get("prompt_tokens_details"), "cached_tokens"),
        (report.get("input_tokens_details"), "cached_tokens"),
        (report, "prompt_cache_hit_tokens"),
        (report, "cached_tokens"),
    )
    if prompt is not None and cached is not None and cached > prompt:
        cached = None  # counted by another rule than ours: better unknown than a rate above 100 %
    return ModelUsage(prompt, cached, _first_count((report, "completion_tokens"), (report, "output_tokens")))


def _first_count(*places: tuple[object, str]) -> int | None:
    return next(_counts(*places), None)


def _counts(*places: tuple[object, str]) -> Iterator[int]:
    for holder, name in places:
        value = holder.get(name) if isinstance(holder, Mapping) else None
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _COUNT_LIMIT:
            yield value


def _newest(older: int | None, newer: int | None) -> int | None:
    return older if newer is None else newer
