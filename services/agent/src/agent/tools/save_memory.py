"""`save_memory`: keeps what the user wants remembered. 「记住了」 is said only after memory has committed it."""

import json
from collections.abc import Mapping
from typing import Any

from agent.context.fences import one_line
from agent.tools.tool import ToolContext, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.client import MemoryUnavailable
from common.memory_api.facts import FactAction, FactOutcome, FactSource, MemoryCategory, ProposedFact
from common.problems import ProblemCode, ProblemError
from common.streams.progress import ProgressEvent
from model_client.exact_json import exact_json

_log = get_logger(__name__)

NAME = "save_memory"

REFUSED = "长期记忆只放偏好和长期规则，不放账号、卡号、证件或联系方式"
NOT_SAVED = "这次没存进长期记忆，本轮我仍会按它来，下次请再说一遍"
_REFUSALS = {
    "memory-full": "长期记忆已经存满，这次没有存；本轮我仍会按它来。请先在偏好页删掉不再需要的条目",
    "candidates-full": "待确认的条目已经排满，这次没有存；本轮我仍会按它来。请先在偏好页处理待确认的条目",
    "key-empty": "没有写 key，没有存；写一个再存",
    "key-too-long": "key 太长，没有存；用一个短的再存",
    "key-form": "key 只用小写英文、数字和下划线，没有存；换一个再存",
    "value-empty": "value 是空的，没有存",
    "value-too-long": "value 太长，没有存；缩成一句话再存",
    "memory-disabled": "长期记忆功能没有开启，这次没有存；本轮我仍会按它来",
}
"""By the rule that refused; any other is about what the fact says."""
_NOT_THEIR_WORD = "这不是用户本人说的、以后也成立的事，没有存；本轮我仍会按它来"
"""The words of the turn are no evidence (rules `evidence-…`)."""

_HELD = "holds_for_session"

_CANDIDATE = "这条还不能确定是你的长期偏好，已放进待确认，确认之后才算记住"
_NEWER_WORD = "你后来改过或删过这一条，这次没有存；本轮我仍会按它来"

_SCHEMA = function_schema(
    NAME,
    "把用户本轮明说的、跨会话都成立的一件事存进长期记忆。一次一件。"
    "不存：账号、卡号、证件、联系方式、详细地址；本轮的预算、颜色、心情；你自己的建议。"
    "回执里 saved 为 true 才能说「记住了」。",
    {
        "key": {"type": "string", "description": "主题，小写英文加下划线，例如 nut_allergy、default_ship_to"},
        "value": {"type": "string", "description": "一句话，用用户的语言，不超过 200 字"},
        "category": {"type": "string", "enum": [category.value for category in MemoryCategory]},
    },
    ["key", "value", "category"],
)


class SaveMemory:
    name = NAME
    effectful = True
    schema = _SCHEMA

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        proposed = proposed_by(arguments)
        try:
            outcome = await context.memory.save_fact(context.call_id, proposed)
        except MemoryUnavailable as error:
            _log.warning("save_memory.not_saved", error=error)
            return _result(False, proposed.key, NOT_SAVED, **{_HELD: True})
        except ProblemError as problem:
            if problem.code not in _ANSWERED_PROBLEMS:
                raise
            return _result(False, None, _ANSWERED_PROBLEMS[problem.code])
        if outcome.action.remembered:
            context.progress.emit(ProgressEvent.MEMORY_SAVED, _saved(outcome, proposed))
        return _receipt(outcome, proposed)


def proposed_by(arguments: Mapping[str, Any]) -> ProposedFact:
    """Raises pydantic.ValidationError."""
    return ProposedFact.model_validate(
        {name: value for name, value in arguments.items() if name in ("key", "value", "category")}
    )


def was_not_stored(receipt: str) -> bool:
    """Whether this is the receipt of a call that memory did not answer: what it said holds for its session."""
    try:
        read = json.loads(receipt)
    except ValueError:  # cut, pruned or cleared
        return False
    return isinstance(read, dict) and read.get(_HELD) is True


_ANSWERED_PROBLEMS = {ProblemCode.FACT_REFUSED: REFUSED, ProblemCode.FACT_OUTDATED: _NEWER_WORD}


def _receipt(outcome: FactOutcome, proposed: ProposedFact) -> ToolResult:
    """What the model is told. It never quotes a value that was refused."""
    value = one_line(outcome.value or proposed.value)
    match outcome.action:
        case FactAction.ADDED | FactAction.UPDATED:
            return _result(True, outcome.key, f"记住了 {value}")
        case FactAction.SUPPORTED | FactAction.DUPLICATE:
            return _result(True, outcome.key, "这条已经在长期记忆里")
        case FactAction.CANDIDATE:
            return _result(False, outcome.key, _CANDIDATE)
        case FactAction.OUTDATED | FactAction.DELETED_BY_USER:
            return _result(False, outcome.key, _NEWER_WORD)
        case FactAction.REFUSED:
            return _result(False, outcome.key, _refusal(outcome.rule or ""))


def _refusal(rule: str) -> str:
    return _REFUSALS.get(rule, _NOT_THEIR_WORD if rule.startswith("evidence-") else REFUSED)


def _result(saved: bool, key: str | None, message: str, **more: bool) -> ToolResult:
    receipt: dict[str, Any] = {"saved": saved, **more}
    if key is not None:
        receipt["key"] = key
    content = exact_json({**receipt, "message": message})
    return ToolResult(content, note="saved" if saved else "not saved", bears_memory=True)


def _saved(outcome: FactOutcome, proposed: ProposedFact) -> dict[str, Any]:
    return {
        "key": outcome.key,
        "value": outcome.value or proposed.value,
        "category": outcome.category or MemoryCategory.PREFERENCE,
        "source": FactSource.SAVE_MEMORY,
    }
