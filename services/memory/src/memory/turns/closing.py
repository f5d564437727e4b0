"""Closing a log that was cut off: every tool call gets exactly one result, and the turn ends with an answer.

Pure: takes the exact JSON texts of a turn's messages and returns the ones to append.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

INTERRUPTED_RESULT = '{"error":"interrupted","message":"The call did not finish."}'


def closing_payloads(payloads: Sequence[str], answer: str) -> list[str]:
    """Synthetic results for the calls still open, in their order, then the answer unless one is already there."""
    messages = [json.loads(payload) for payload in payloads]
    closing = [
        {"role": "tool", "tool_call_id": call_id, "content": INTERRUPTED_RESULT} for call_id in open_calls(messages)
    ]
    if not (messages and not closing and is_answer(messages[-1])):
        closing.append({"role": "assistant", "content": answer})
    return [json.dumps(message, ensure_ascii=False, separators=(",", ":")) for message in closing]


def open_calls(messages: Iterable[dict[str, Any]]) -> list[str]:
    """Ids of tool calls without a result, in the order in which they were made."""
    waiting: dict[str, None] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            waiting[call["id"]] = None
        if message.get("role") == "tool":
            waiting.pop(message["tool_call_id"], None)
    return list(waiting)


def is_answer(message: dict[str, Any]) -> bool:
    return message.get("role") == "assistant" and not message.get("tool_calls")
