"""What the model answers, before it is put on the wire; and the ways a finished answer can be spoilt."""

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

from offline_model.chat.requests import RequestedCall, RequestedFunction
from offline_model.misbehaviour import Misbehaviour
from offline_model.playing.play import Play

FinishReason = Literal["stop", "tool_calls", "length"]


@dataclass(frozen=True)
class Answer:
    answer_id: str
    model: str
    text: str
    calls: list[RequestedCall]
    finish_reason: FinishReason


def answer_of(play: Play, model: str, digest: str) -> Answer:
    """Ids come from the digest of the request: the same request always gets the same answer, ids included."""
    calls = [
        RequestedCall(
            id=f"call_{_id(digest, position)}",
            function=RequestedFunction(name=call.name, arguments=call.arguments),
        )
        for position, call in enumerate(play.calls)
    ]
    return Answer(f"chatcmpl-{_id(digest, -1)}", model, play.text, calls, "tool_calls" if calls else "stop")


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


def _id(digest: str, position: int) -> str:
    return hashlib.sha256(f"{digest}:{position}".encode()).hexdigest()[:24]


def _first_half(text: str) -> str:
    return text[: max(1, len(text) // 2)]
