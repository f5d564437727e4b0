"""Renders a request the way the chat template of Qwen3.6 does, for counting tokens.

Tools come first in the system message, then the system prompt. The results of one step's tools share one user
message. Every assistant message begins with a block of thoughts, empty where there were none, and the prompt ends
where the model goes on: after an empty block, or within an open one when it is asked to think. So prompt N+1 begins
with prompt N and answer N whenever the client sends the conversation back as it was, thoughts included.

With `preserve_thinking: false` the template drops the thoughts of everything before the newest user message, as
Qwen's own does by default: the prompt then changes at each turn where the last turn's answers begin.

One liberty: arguments of tool calls are shown as the text that was sent, where Qwen3.6 spells them out in tags.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from offline_model.chat.requests import ChatMessage, ChatRequest, RequestedCall
from offline_model.prompts import BlockEnd, Control, Piece

_TOOLS_HEAD = "# Tools\n\nYou can call these functions:\n<tools>"
_TOOLS_TAIL = (
    "\n</tools>\n\nTo call one, answer with a JSON object that names the function and its arguments, "
    'like {"name": ..., "arguments": ...}, between the tags of a tool call.'
)


def render_prompt(request: ChatRequest, raw_tools: list[dict[str, Any]]) -> Iterator[Piece]:
    """The prompt up to where the model goes on. `raw_tools` are the tools with all their fields, as sent."""
    system, messages = _split(request.messages)
    if raw_tools or system:
        yield from _framed("system", _system(request, raw_tools, system))
    newest_user = max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)
    for position, message in enumerate(messages):
        if message.role == "tool":
            yield from _tool_result(messages, position)
        elif message.role == "assistant":
            shows_thoughts = request.preserves_thinking or position > newest_user
            yield from _framed("assistant", _assistant(message, shows_thoughts))
        else:
            yield from _framed(message.role, _content(message))
    yield from (Control.MESSAGE_START, "assistant\n", Control.THINK)
    yield from ("\n",) if request.thinks else ("\n\n", Control.THINK_END, "\n\n")


def render_answer(request: ChatRequest, reasoning: str, text: str, calls: Sequence[RequestedCall]) -> Iterator[Piece]:
    """What the model adds to the prompt, but for the token that ends its message."""
    if request.thinks:
        yield from (reasoning, "\n", Control.THINK_END, "\n\n")
    if text:
        yield text
    for number, call in enumerate(calls):
        yield from _call(call, is_first=number == 0 and not text)


def _split(messages: list[ChatMessage]) -> tuple[ChatMessage | None, list[ChatMessage]]:
    if messages[0].role in ("system", "developer"):
        return messages[0], messages[1:]
    return None, messages


def _framed(role: str, inside: Iterator[Piece]) -> Iterator[Piece]:
    yield from (Control.MESSAGE_START, f"{role}\n")
    yield from inside
    yield from (Control.MESSAGE_END, "\n")


def _system(request: ChatRequest, raw_tools: list[dict[str, Any]], system: ChatMessage | None) -> Iterator[Piece]:
    if raw_tools:
        yield _TOOLS_HEAD
        for tool, raw in zip(request.tools or [], raw_tools, strict=True):
            shown = {name: value for name, value in raw.items() if name != "cache_control"}
            yield "\n" + json.dumps(shown, ensure_ascii=False)
            yield BlockEnd(tool.cache_control is not None)
        yield _TOOLS_TAIL
    if raw_tools and system:
        yield "\n\n"
    if system:
        yield from _content(system)


def _content(message: ChatMessage) -> Iterator[Piece]:
    """A text is one content block; a list has one for each of its parts."""
    if not isinstance(message.content, list):
        if message.content:
            yield from (message.content, BlockEnd())
        return
    for part in message.content:
        yield from (part.text, BlockEnd(part.cache_control is not None))


def _assistant(message: ChatMessage, shows_thoughts: bool) -> Iterator[Piece]:
    if shows_thoughts:
        thoughts = (message.reasoning_content or "").strip("\n")
        yield Control.THINK
        yield from ("\n", thoughts, "\n") if thoughts else ("\n\n",)
        yield from (Control.THINK_END, "\n\n")
    yield from _content(message)
    for number, call in enumerate(message.tool_calls):
        yield from _call(call, is_first=number == 0 and not message.text)
        yield BlockEnd()


def _call(call: RequestedCall, *, is_first: bool) -> Iterator[Piece]:
    if not is_first:
        yield "\n"
    name = json.dumps(call.function.name, ensure_ascii=False)
    yield Control.TOOL_CALL
    yield f'\n{{"name": {name}, "arguments": {call.function.arguments}}}\n'
    yield Control.TOOL_CALL_END


def _tool_result(messages: list[ChatMessage], position: int) -> Iterator[Piece]:
    """One result; the first of a step opens the user message that holds them, and the last closes it."""
    if position == 0 or messages[position - 1].role != "tool":
        yield from (Control.MESSAGE_START, "user")
    yield from ("\n", Control.TOOL_RESPONSE, "\n")
    yield from _content(messages[position])
    yield from ("\n", Control.TOOL_RESPONSE_END)
    if position + 1 == len(messages) or messages[position + 1].role != "tool":
        yield from (Control.MESSAGE_END, "\n")
