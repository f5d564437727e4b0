"""Corrections: what the model is told when it did something that cannot stand, each once per turn.

Those of form are here: an answer or a call that cannot be used. Those of conduct come from `guards/`. A correction is
stored like any message, so every later request has it where it was; one that stood in a single request only would end
the cached prefix there.
"""

from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from agent.context.messages import correction_code
from agent.loop.hooks import Hook, HookPoint, HookView
from agent.loop.turn import Turn
from agent.loop.turn_state import current_drive
from agent.tools.tool import Fault
from common.memory_api.sessions import NewLogEntry
from model_client.errors import ModelEmpty, ModelMisbehaved, ModelTruncated


class Correction(StrEnum):
    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    TRUNCATED_OUTPUT = "truncated_output"
    EMPTY_ANSWER = "empty_answer"
    REPEATED_CALL = "repeated_call"
    ALTERNATING_CALLS = "alternating_calls"
    CHANGED_DOMAIN = "changed_domain"
    SKIPPED_SKILL = "skipped_skill"
    ORDER_NOT_CONFIRMED = "order_not_confirmed"
    DRIFT = "drift"
    NO_MORE_TOOLS = "no_more_tools"
    UNNAMED_CONFLICT = "unnamed_conflict"


_TEXTS = {
    Correction.UNKNOWN_TOOL: "刚才调用的工具不存在。只能调用请求里列出的工具，名字照抄；没有对应的工具就直接回答用户。",
    Correction.INVALID_ARGUMENTS: (
        "刚才的参数不是合法的 JSON 对象，调用没有执行。重新发这个调用：一个完整的 JSON 对象，键和字符串用双引号，"
        "没有注释，没有多余的逗号。"
    ),
    Correction.TRUNCATED_OUTPUT: (
        "刚才的输出太长，在中途被截断，没有生效。重新来一次，写短一些：参数只写必要的，答复控制在几百字内。"
    ),
    Correction.EMPTY_ANSWER: "刚才没有输出任何内容。请继续本轮：需要资料就调用工具，已经够了就收尾答复用户。",
}
_OF_FAULT = {
    Fault.UNKNOWN_TOOL: Correction.UNKNOWN_TOOL,
    Fault.INVALID_ARGUMENTS: Correction.INVALID_ARGUMENTS,
}


def correction_for(error: ModelMisbehaved, turn: Turn) -> Correction | None:
    """What to say about an answer that could not be used; nothing where it was said before, or would not help."""
    match error:
        case ModelTruncated():
            correction = Correction.TRUNCATED_OUTPUT
        case ModelEmpty():
            correction = Correction.EMPTY_ANSWER
        case _:
            return None
    return None if correction in given_corrections(turn) else correction


def text_of(correction: Correction) -> str:
    return _TEXTS[correction]


def given_corrections(turn: Turn) -> Counter[str]:
    """How often each was given since the turn was last driven."""
    codes = (correction_code(entry.message) for entry in current_drive(turn.entries))
    return Counter(code for code in codes if code is not None)


def correcting(
    correction: Correction,
    point: HookPoint,
    priority: int,
    text_for: Callable[[HookView], str | None],
    *,
    at_most: int = 1,
) -> Hook:
    """A hook that gives the correction with the text for what it sees, where there is one, so often in a turn."""

    async def add(view: HookView) -> list[NewLogEntry]:
        if given_corrections(view.turn)[correction] >= at_most:
            return []
        text = text_for(view)
        return [] if text is None else [view.make.correction(correction, text)]

    return Hook(correction.value, point, priority, add)


async def _correct_calls(view: HookView) -> list[NewLogEntry]:
    faults = {result.fault for _, result in view.results if result.fault is not None}
    wanted = sorted(_OF_FAULT[fault] for fault in faults)
    given = given_corrections(view.turn)
    return [view.make.correction(each, text_of(each)) for each in wanted if each not in given]


call_corrections = Hook("call_corrections", HookPoint.POST_TOOL_CALL, 30, _correct_calls)
