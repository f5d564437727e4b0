"""The planner's input: a short digest of the conversation, then this turn's words."""

import json
from collections.abc import Sequence
from itertools import groupby

from agent.context.fences import inside, neutralise
from agent.context.messages import tool_calls_of
from agent.session_constraints.constraints import SessionConstraints
from agent.tools import shopping_summary
from common.memory_api.sessions import LogEntry
from model_client.exact_json import exact_json

_TURNS = 3
_WORDS_MAX = 300
_REPLY_MAX = 300


def planner_input(text: str, earlier: Sequence[LogEntry], constraints: SessionConstraints) -> str:
    """`earlier` are the entries of the turns before; of the last three, the user's words and the reply are shown.

    `constraints` is P_t before this turn: so that a word is taken back by the name it was put in with.
    """
    turns = [list(entries) for _, entries in groupby(_tail(earlier), key=lambda entry: entry.turn_id)][-_TURNS:]
    lines = [line for entries in turns for line in _said_in(entries)]
    return "\n".join(
        [
            "<recent_conversation>",
            *(lines or ["（这是第一轮）"]),
            "</recent_conversation>",
            *_held(constraints),
            "<user_message>",
            neutralise(text),
            "</user_message>",
        ]
    )


def _held(constraints: SessionConstraints) -> list[str]:
    shown = constraints.shown()
    if not shown:
        return []
    return ["<session_constraints>", neutralise(exact_json(shown)), "</session_constraints>"]


def _tail(earlier: Sequence[LogEntry]) -> Sequence[LogEntry]:
    """The entries of the last turns; all others need not be looked at."""
    seen: set[object] = set()
    for index in range(len(earlier) - 1, -1, -1):
        seen.add(earlier[index].turn_id)
        if len(seen) > _TURNS:
            return earlier[index + 1 :]
    return earlier


def _said_in(entries: Sequence[LogEntry]) -> list[str]:
    said: list[str] = []
    reply = ""
    for entry in entries:
        message = entry.message
        content = str(message.get("content") or "")
        if message.get("role") == "user" and (words := inside(content, "user_message")) is not None:
            said.append(f"用户：{_clipped(words, _WORDS_MAX)}")
        elif message.get("role") == "assistant":
            calls = tool_calls_of(message)
            summaries = [call.arguments for call in calls if call.name == shopping_summary.NAME]
            reply = _reply_in(summaries[-1]) if summaries else (reply if calls else content)
    return [*said, f"助手：{_clipped(reply, _REPLY_MAX)}"] if reply else said


def _reply_in(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return ""
    return str(given.get("reply") or "") if isinstance(given, dict) else ""


def _clipped(text: str, most: int) -> str:
    words = neutralise(" ".join(text.split()))
    return words if len(words) <= most else words[:most] + "…"
