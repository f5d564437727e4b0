"""What comes back from a model call: deltas while it streams, then one whole answer."""

from dataclasses import dataclass

from model_client.exact_json import exact_json
from model_client.usage import ModelUsage


@dataclass(frozen=True)
class ToolCall:
    """`arguments` is the text as it was streamed; nobody has checked that it is JSON."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class TextDelta:
    text: str


@dataclass(frozen=True)
class ArgumentsDelta:
    """A fragment of the arguments of the answer's tool call number `position` (from 0)."""

    position: int
    name: str
    fragment: str


@dataclass(frozen=True)
class Restarted:
    """The attempt failed and the call is made anew: all deltas so far are superseded.

    `accepted`: whether the endpoint had taken the failed request up, or could not right now.
    """

    accepted: bool


@dataclass(frozen=True)
class ModelAnswer:
    """A complete answer. `payload` is the message as the exact JSON text to store and replay.

    `truncated`: the text was cut off at the length limit. `malformed_calls`: ids of the calls whose arguments are no
    JSON object; model_client.arguments tells what is wrong with them.
    """

    payload: str
    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: ModelUsage
    time_to_first_token_ms: int | None
    duration_ms: int
    truncated: bool = False
    malformed_calls: tuple[str, ...] = ()


ModelEvent = TextDelta | ArgumentsDelta | Restarted | ModelAnswer


def assistant_payload(
    text: str, tool_calls: tuple[ToolCall, ...], reasoning: str = "", reasoning_field: str | None = None
) -> str:
    """The assistant message. `reasoning_field` is where the provider wants the reasoning echoed, if it does.

    Content is a string also beside tool calls: some servers refuse null, and none is known to refuse "" there.
    """
    message: dict[str, object] = {"role": "assistant", "content": text}
    if reasoning and reasoning_field:
        message[reasoning_field] = reasoning
    if tool_calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in tool_calls
        ]
    return exact_json(message)
