"""The same call again, and two steps by turns: what has been answered is not answered better the next time."""

from collections.abc import Sequence
from itertools import chain

from agent.loop.corrections import Correction, correcting
from agent.loop.guards.steps import RanCall, Step, steps_with_results
from agent.loop.hooks import HookPoint, HookView
from agent.tools import shopping_summary

STUCK_AFTER = 3
"""Repetitions after which the turn is asked for its last answer."""

_TRIES = 2
"""A call that failed may be tried once more."""

_REPEATED = (
    "刚才的 {tool} 调用和本轮前面的一模一样，结果也不会变。不要再发同样的调用：换关键词、放宽或收紧一个条件，"
    "或者用手上的结果作答。"
)
_ALTERNATING = "最近几步在同样的两个做法之间来回，没有新的进展。停下来：换一个没有试过的做法，或者用手上的结果作答。"


def repetitions(steps: Sequence[Step]) -> list[RanCall]:
    """The calls that had been answered in an earlier step. Two of one step are not counted."""
    return [call for index, step in enumerate(steps) for call in step if _is_repeated(call, steps[:index])]


def is_alternating(steps: Sequence[Step]) -> bool:
    """Whether the last four steps are A, B, A, B."""
    if len(steps) < 4:
        return False
    one, other, third, fourth = ({call.signature for call in step} for step in steps[-4:])
    return one == third and other == fourth and one != other


def _is_repeated(call: RanCall, earlier: Sequence[Step]) -> bool:
    if call.call.name == shopping_summary.NAME:
        return False
    same = [other for other in chain.from_iterable(earlier) if other.signature == call.signature]
    return any(not other.failed for other in same) or len(same) >= _TRIES


def _text_for_repeated(view: HookView) -> str | None:
    steps = steps_with_results(view)
    repeated = [call for call in steps[-1] if _is_repeated(call, steps[:-1])] if steps else []
    return _REPEATED.format(tool=repeated[0].call.name) if repeated else None


def _text_for_alternating(view: HookView) -> str | None:
    return _ALTERNATING if is_alternating(steps_with_results(view)) else None


repeated_call = correcting(Correction.REPEATED_CALL, HookPoint.POST_TOOL_CALL, 60, _text_for_repeated)
alternating_calls = correcting(Correction.ALTERNATING_CALLS, HookPoint.POST_TOOL_CALL, 61, _text_for_alternating)
