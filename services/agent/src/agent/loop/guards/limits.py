"""The limits of a turn: steps, searches, tokens and time. Each is told before it is reached; at it, the model is asked
for a last answer, of which no call but `shopping_summary` is run. So a turn ends with an answer or a clear failure."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from agent.context.messages import correction_code, tool_calls_of
from agent.loop.corrections import Correction, correcting, given_corrections
from agent.loop.guards.repetition import STUCK_AFTER, repetitions
from agent.loop.guards.steps import ran_steps
from agent.loop.hooks import Hook, HookPoint, HookView
from agent.loop.turn import Turn
from agent.loop.turn_state import current_drive
from agent.tools import item_search
from common.clock import Clock
from common.memory_api.sessions import NewLogEntry


class LimitReached(Exception):
    """The model did not finish within what a turn may take."""


@dataclass(frozen=True)
class TurnLimits:
    """`steps` are calls of the main model, `tokens` those of their requests and answers. Time is the turn's own."""

    steps: int
    searches: int = 16
    tokens: int = 600_000


class Limit(StrEnum):
    STEPS = "steps"
    SEARCHES = "searches"
    TOKENS = "tokens"
    TIME = "time"


_NOTICES = {
    Limit.STEPS: "步数快用完了。不要再搜索，用手上的结果收尾：有合适的商品就调用 shopping_summary，没有就直接说明。"
    "(Few steps are left: finish now with what you have.)",
    Limit.SEARCHES: "本轮搜索的次数快用完了。最多再搜一次，然后用手上的结果收尾。"
    "(Few searches are left: finish with what you have.)",
    Limit.TOKENS: "本轮的篇幅快用完了。不要再搜索，用手上的结果收尾，答复写短。"
    "(Little room is left: finish now with what you have.)",
    Limit.TIME: "本轮的时间快用完了。不要再搜索，现在就用手上的结果收尾，答复写短。"
    "(Little time is left: finish now with what you have.)",
}
_LAST_ANSWER = (
    "本轮到此为止：除 shopping_summary 外，任何调用都不会再执行。现在就用手上的结果给用户最后的答复："
    "有合适的商品，只调用 shopping_summary；没有，就直接写出找到了什么、还差什么、放宽哪个条件会有结果。"
    "(This is the turn's last answer: no call but shopping_summary will be run.)"
)

_STEPS_LEFT = 2
_NEAR = 0.75
"""Share of the searches and tokens at which the notice comes."""
_SECONDS_LEFT, _LAST_SECONDS = 20.0, 8.0
_TIME_LEFT, _LAST_TIME = 0.25, 0.1
"""The same as shares of the attempt's time, for turns that have less."""


def limit_guards(limits: TurnLimits, clock: Clock) -> list[Hook]:
    def near(view: HookView) -> Limit | None:
        return next((limit for limit, (is_near, _) in _stages(limits, clock, view).items() if is_near), None)

    def reached(view: HookView) -> bool:
        is_stuck = len(repetitions(ran_steps(view.turn.entries))) >= STUCK_AFTER
        return is_stuck or any(at_it for _, at_it in _stages(limits, clock, view).values())

    return [
        _wrap_up_notice(near),
        correcting(
            Correction.NO_MORE_TOOLS,
            HookPoint.PRE_MODEL_CALL,
            95,
            lambda view: _LAST_ANSWER if reached(view) else None,
        ),
    ]


def is_last_answer(turn: Turn) -> bool:
    """Whether the model was told that this answer is the turn's last one."""
    return given_corrections(turn)[Correction.NO_MORE_TOOLS] > 0


def must_have_ended(turn: Turn) -> bool:
    """Whether it has given that answer."""
    told = False
    for entry in current_drive(turn.entries):
        if told and entry.message.get("role") == "assistant":
            return True
        told = told or correction_code(entry.message) == Correction.NO_MORE_TOOLS
    return False


def _wrap_up_notice(near: Callable[[HookView], Limit | None]) -> Hook:
    """One notice per turn, for the limit that comes first."""

    async def add(view: HookView) -> list[NewLogEntry]:
        limit = near(view)
        return [] if limit is None or _was_given(view.turn) else [view.make.notice(_NOTICES[limit])]

    return Hook("wrap_up_notice", HookPoint.PRE_MODEL_CALL, 90, add)


def _was_given(turn: Turn) -> bool:
    contents = [str(entry.message.get("content", "")) for entry in current_drive(turn.entries)]
    return any(notice in content for notice in _NOTICES.values() for content in contents)


def _stages(limits: TurnLimits, clock: Clock, view: HookView) -> dict[Limit, tuple[bool, bool]]:
    """Of each limit, whether it is near and whether it is reached."""
    turn, steps, searches = view.turn, view.state.steps, _searches(view.turn)
    total, left = turn.claimed.deadline_seconds, turn.give_up_at - clock.monotonic()
    return {
        Limit.STEPS: (steps >= limits.steps - _STEPS_LEFT, steps >= limits.steps - 1),
        Limit.SEARCHES: (searches >= limits.searches * _NEAR, searches >= limits.searches),
        Limit.TOKENS: (turn.tokens_used >= limits.tokens * _NEAR, turn.tokens_used >= limits.tokens),
        Limit.TIME: (
            left < min(_SECONDS_LEFT, total * _TIME_LEFT),
            left < min(_LAST_SECONDS, total * _LAST_TIME),
        ),
    }


def _searches(turn: Turn) -> int:
    made = (call for entry in current_drive(turn.entries) for call in tool_calls_of(entry.message))
    return sum(call.name == item_search.NAME for call in made)
