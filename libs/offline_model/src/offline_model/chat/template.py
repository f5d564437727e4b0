"""Renders a request the way a chat template of the Qwen family does, for counting tokens.

Tools come first in the system message, then the system prompt; a tool's result is shown as a user message. The
assistant's tool calls are shown with the argument text as it was sent, so a request that extends another one by
whole messages has a prompt that extends the other's.
"""

import json
from collections.abc import Iterator
from typing import Any

from offline_model.chat.requests import ChatMessage, ChatRequest, RequestedCall

_TOOLS_HEAD = "# Tools\n\nYou can call these functions:\n<tools>"
_TOOLS_TAIL = (
    "</tools>\n\nTo call one, answer with a JSON object that names the function and its arguments, "
    'like <tool_call>\n{"name": ..., "arguments": ...}\n</tool_call>'
)


def render_prompt(request: ChatRequest, raw_tools: list[dict[str, Any]]) -> Iterator[str]:
    """The prompt's messages, each as "role\\ncontent". `raw_tools` are the tools with all their fields, as sent."""
    messages = list(request.messages)
    head = [_render_tools(raw_tools)] if raw_tools else []
    if messages[0].role in ("system", "developer"):
        head.append(messages.pop(0).text)
    if head:
        yield "system\n" + "\n\n".join(head)
    for message in messages:
        yield _render_message(message)


def render_answer(text: str, calls: list[RequestedCall]) -> str:
    return "\n".join([text, *(_render_call(call) for call in calls)]).strip("\n")


def _render_tools(raw_tools: list[dict[str, Any]]) -> str:
    lines = [json.dumps(tool, ensure_ascii=False) for tool in raw_tools]
    return "\n".join([_TOOLS_HEAD, *lines, _TOOLS_TAIL])


def _render_message(message: ChatMessage) -> str:
    if message.role == "tool":
        return f"user\n<tool_response>\n{message.text}\n</tool_response>"
    if message.role == "assistant":
        return f"assistant\n{render_answer(message.text, message.tool_calls)}"
    return f"{message.role}\n{message.text}"


def _render_call(call: RequestedCall) -> str:
    name = json.dumps(call.function.name, ensure_ascii=False)
    return f'<tool_call>\n{{"name": {name}, "arguments": {call.function.arguments}}}\n</tool_call>'
