"""Tables of what model calls cost, and how much of it came from the provider's prefix cache."""

from collections.abc import Mapping, Sequence

from common.memory_api.usage import CacheUsage, PrefixMiss, TurnModelCall, TurnRangeUsage, Usage, UsageSummary
from common.usage_rates import cache_usage
from devstack.terminal.screen import Screen

_UNKNOWN = "?"
_NONE = "–"


def show_model_calls(screen: Screen, calls_by_session: Mapping[str, Sequence[TurnModelCall]]) -> None:
    """Every call with its tokens as the provider reported them, and the share of all that came from its cache."""
    rows = [
        (
            label,
            call.turn_number,
            call.kind.value,
            call.model,
            _count(call.prompt_tokens),
            _count(call.cached_tokens),
            _rate(cache_usage([call]).rate),
            _count(call.completion_tokens),
            _count(call.time_to_first_token_ms),
        )
        for label, calls in calls_by_session.items()
        for call in calls
    ]
    columns = ("session", "turn", "kind", "model", "prompt", "cached", "rate", "output", "ttft ms")
    screen.table("模型调用 · model calls", columns, rows)
    total = cache_usage(call for calls in calls_by_session.values() for call in calls)
    if total.rate is not None:
        words = f"{total.cached_tokens} / {total.prompt_tokens} = {total.rate:.1%}"
        screen.line(f"  缓存命中 · from the prefix cache: {words}", "bold")


def show_usage(screen: Screen, session_id: str, usage: Usage) -> None:
    """A session's calls, its rates by turns and by kind, and every call that should have read more."""
    show_model_calls(screen, {session_id[-6:]: usage.calls})
    _show_rates(screen, usage.summary)
    _show_misses(screen, usage.summary.misses)


def _show_rates(screen: Screen, summary: UsageSummary) -> None:
    rows: list[tuple[str, CacheUsage]] = [
        ("全部 · all calls", summary.total),
        ("去掉首次 · without first calls", summary.after_first_calls),
        *((f"轮次 · turns {_range(row)}", row) for row in summary.by_turns),
        *((f"类别 · {row.kind.value}", row) for row in summary.by_kind),
    ]
    columns = ("", "calls", "unknown", "prompt", "cached", "rate")
    screen.table(
        "前缀缓存命中率 · prefix cache rates",
        columns,
        [
            (name, row.calls, row.unknown_calls, row.prompt_tokens, row.cached_tokens, _rate(row.rate))
            for name, row in rows
        ],
    )
    if summary.unknown_share:
        words = "供应商没有报告 · not reported by the provider"
        screen.line(f"  {words}: {summary.unknown_share:.0%}", "yellow")


def _show_misses(screen: Screen, misses: Sequence[PrefixMiss]) -> None:
    if not misses:
        screen.line("  前缀没有断过 · no prefix was broken or lost", "green")
        return
    rows = [
        (
            miss.turn_number,
            miss.kind.value,
            miss.call_number,
            _count(miss.lost_tokens),
            miss.layer or _NONE,
            _NONE if miss.position is None else miss.position,
            miss.cause.value if miss.cause else _NONE,
        )
        for miss in misses
    ]
    columns = ("turn", "kind", "call", "lost tokens", "layer", "at character", "cause")
    screen.table("未命中 · misses", columns, rows)
    if any(miss.layer is None for miss in misses):
        screen.line("  没有层名：请求没变，供应商没留住 · without a layer: unchanged, but not in the cache", "dim")


def _range(row: TurnRangeUsage) -> str:
    if row.last_turn is None:
        return f"{row.first_turn}+"
    return str(row.first_turn) if row.first_turn == row.last_turn else f"{row.first_turn}–{row.last_turn}"


def _count(count: int | None) -> str:
    return _UNKNOWN if count is None else str(count)


def _rate(rate: float | None) -> str:
    return _UNKNOWN if rate is None else f"{rate:.1%}"
