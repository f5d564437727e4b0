"""Tables of what the system knows and what it cost."""

from typing import Any

from devstack.terminal.screen import Screen

_UNKNOWN = "?"


def show_facts(screen: Screen, facts: list[dict[str, Any]]) -> None:
    if not facts:
        screen.line("  长期记忆：空 · long-term memory: empty", "green")
        return
    rows = [(fact["category"], fact["key"], fact["value"], fact["source"]) for fact in facts]
    screen.table("长期记忆 · long-term memory", ("category", "key", "value", "from"), rows)


def show_model_calls(screen: Screen, calls_by_session: dict[str, list[dict[str, Any]]]) -> None:
    """Every call with its tokens as the provider reported them, and the share that came from its prefix cache."""
    rows = [
        (
            label,
            call["turn_seq"],
            call["kind"],
            call["model"],
            _tokens(call["prompt_tokens"]),
            _tokens(call["cached_tokens"]),
            _tokens(call["completion_tokens"]),
        )
        for label, calls in calls_by_session.items()
        for call in calls
    ]
    columns = ("session", "turn", "kind", "model", "prompt", "cached", "completion")
    screen.table("模型调用 · model calls", columns, rows)
    prompt, cached = cache_totals([call for calls in calls_by_session.values() for call in calls])
    if prompt:
        screen.line(f"  缓存命中 · from the prefix cache: {cached} / {prompt} = {cached / prompt:.0%}", "bold")


def cache_totals(calls: list[dict[str, Any]]) -> tuple[int, int]:
    """Prompt and cached tokens over all calls that reported both; unknown is left out and not counted as 0."""
    known = [call for call in calls if call["prompt_tokens"] is not None and call["cached_tokens"] is not None]
    return sum(call["prompt_tokens"] for call in known), sum(call["cached_tokens"] for call in known)


def _tokens(count: int | None) -> str:
    return _UNKNOWN if count is None else str(count)
