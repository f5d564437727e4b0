"""What the model answers, before it is put on the wire; and the ways a finished answer can be spoilt."""

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

from offline_model.chat.requests import GivenAnswer, RequestedCall, RequestedFunction
from offline_model.misbehaviour import Misbehaviour
from offline_model.playing.play import Play

FinishReason = Literal["stop", "tool_calls", "length"]

_THOUGHT = "先看清用户这一轮要什么、手上有什么，再决定下一步。"
"""All that the rules have to say about themselves when they are asked to think."""


@dataclass(frozen=True)
class Answer:
    answer_id: str
    model: str
    text: str
    calls: list[RequestedCall]
    finish_reason: FinishReason
    reasoning: str = ""


def answer_of(play: Play, model: str, digest: str, *, thinks: bool) -> Answer:
    """Ids come from the digest of the request: the same request always gets the same answer, ids included."""
    calls = [
        RequestedCall(
            id=f"call_{_id(digest, position)}",
            function=RequestedFunction(name=call.name, arguments=call.arguments),
        )
        for position, call in enumerate(play.calls)
    ]
    finish_reason: FinishReason = "tool_calls" if calls else "stop"
    return Answer(_answer_id(digest), model, play.text, calls, finish_reason, _THOUGHT if thinks else "")


def given_answer(given: GivenAnswer, model: str, digest: str) -> Answer:
    finish_reason: FinishReason = "tool_calls" if given.tool_calls else "stop"
    return Answer(
        _answer_id(digest), model, given.content or "", given.tool_calls, finish_reason, given.reasoning_content or ""
    )


def one_token_answer(model: str, digest: str) -> Answer:
    return Answer(_answer_id(digest), model, "好", [], "length")


def spoilt(answer: Answer, misbehaviour: Misbehaviour) -> Answer:
    if misbehaviour.malformed_arguments:
        answer = replace(answer, calls=[_with_arguments(call, call.function.arguments[:-1]) for call in answer.calls])
    if not misbehaviour.truncate:
        return answer
    if not answer.calls:
        return replace(answer, text=_first_half(answer.text), finish_reason="length")
    *whole, last = answer.calls
    half = _with_arguments(last, _first_half(last.function.arguments))
    return replace(answer, calls=[*whole, half], finish_reason="length")


def _with_arguments(call: RequestedCall, arguments: str) -> RequestedCall:
    function = call.function.model_copy(update={"arguments": arguments})
    return call.model_copy(update={"function": function})


def _answer_id(digest: str) -> str:
    return f"chatcmpl-{_id(digest, -1)}"


def _id(digest: str, position: int) -> str:
    return hashlib.sha256(f"{digest}:{position}".encode()).hexdigest()[:24]


def _first_half(text: str) -> str:
    return text[: max(1, len(text) // 2)]
