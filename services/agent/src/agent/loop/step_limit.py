"""The limit of steps, and the notice that comes before it."""

from agent.context.messages import message_of
from agent.loop.hooks import Hook, HookPoint, HookView
from agent.loop.turn_state import current_drive
from common.memory_api.sessions import NewLogEntry

_NOTICE = (
    "步数快用完了。不要再搜索，用手上的结果收尾：有合适的商品就调用 shopping_summary，没有就直接说明。"
    "(Few steps are left: finish now with what you have.)"
)
_STEPS_LEFT = 2


class StepLimitReached(Exception):
    """The model did not finish within the steps allowed."""


def wrap_up_notice(max_steps: int) -> Hook:
    """Tells the model once, two steps before the limit, to finish."""

    async def add(view: HookView) -> list[NewLogEntry]:
        if view.state.steps < max_steps - _STEPS_LEFT or _was_given(view):
            return []
        return [view.make.notice(_NOTICE)]

    return Hook("wrap_up_notice", HookPoint.PRE_MODEL_CALL, 90, add)


def _was_given(view: HookView) -> bool:
    entries = current_drive(view.turn.entries)
    return any(_NOTICE in str(message_of(entry).get("content", "")) for entry in entries)
