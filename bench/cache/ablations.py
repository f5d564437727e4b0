"""What the design decided against: the same recorded conversations, sent as if it had decided otherwise.

Each ablation is a pure function of a call. It changes the requests of the main prefix only; planner and curator stay
as they are. A message's layer is told by the marks it begins with, as a provider would have to.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.cache.calls import Call, text_of

from model_client.exact_json import exact_json

_MEMORY = "<user_long_term_memory>"
_TURN_BLOCKS = ("<strategies>", "<personal_skills>", "<order_card>")
_USER = "<user_message>"
_MARK = {"cache_control": {"type": "ephemeral"}}

WINDOW_TURNS = 6
"""Sliding window: the newest turns that stay."""
SKILL_EVERY = 4
"""Personal skills: the user adds one every so many turns."""
MARKED_RESULT = 2
"""The moving mark: on the tool result so many before the last one."""


@dataclass(frozen=True)
class Ablation:
    """`session` is the scenario in which it shows; `baseline` is what it is compared with, where that is not the
    scenario as it was recorded."""

    name: str
    session: str
    words: str
    apply: Callable[[Call], Call]
    baseline: Callable[[Call], Call] | None = None


def changed(calls: Sequence[Call], change: Callable[[Call], Call]) -> list[Call]:
    return [change(call) if call.on_main_prefix else call for call in calls]


def l2_before_history(call: Call) -> Call:
    """Seeds: the blocks of this turn stand between the system message and the history, and are gone with their turn."""
    head, *others = call.messages
    newest = (_turn_starts(others) or [0])[-1]
    blocks = [text for text in others[newest:] if _is_turn_block(text)]
    return call.with_messages((head, *blocks, *(text for text in others if not _is_turn_block(text))))


def l5_dropped(call: Call) -> Call:
    """The memory block is only in the requests of its own turn."""
    head, *others = call.messages
    newest = (_turn_starts(others) or [0])[-1]
    kept = [text for position, text in enumerate(others) if position >= newest or not _begins(text, _MEMORY)]
    return call.with_messages((head, *kept))


def memory_in_system(call: Call) -> Call:
    """The memory block stands at the end of the system message."""
    head, *others = call.messages
    blocks = [text for text in others if _begins(text, _MEMORY)]
    if blocks:
        head = _extended(head, f"\n\n{text_of(json.loads(blocks[-1]))}")
    return call.with_messages((head, *(text for text in others if not _begins(text, _MEMORY))))


def timestamp_in_head(call: Call) -> Call:
    """The system message begins with the time of the turn, to the minute."""
    minutes = call.session * 45 + call.turn * 2
    day, minutes = divmod(minutes, 1_440)
    now = f"当前时间：2026-12-{day + 1:02d} {minutes // 60:02d}:{minutes % 60:02d}\n\n"
    head, *others = call.messages
    message = json.loads(head)
    message["content"] = now + text_of(message)
    return call.with_messages((exact_json(message), *others))


def sliding_window(call: Call) -> Call:
    """Whole turns fall out at the beginning, so that the newest ones stay."""
    head, *others = call.messages
    starts = _turn_starts(others)
    first = starts[-WINDOW_TURNS] if len(starts) > WINDOW_TURNS else 0
    return call.with_messages((head, *others[first:]))


def moving_mark(call: Call) -> Call:
    """A mark on the system message and one that follows the conversation, a few tool results behind its end."""
    results = [position for position, text in enumerate(call.messages) if text.startswith('{"role":"tool"')]
    marked = {0, *results[-MARKED_RESULT:][:1]}
    return call.with_messages(
        tuple(_marked(text) if position in marked else text for position, text in enumerate(call.messages))
    )


def personal_skills_in_l1(call: Call) -> Call:
    """The user's own skills are part of the catalogue at the end of the system message."""
    head, *others = call.messages
    return call.with_messages((_extended(head, f"\n{_personal_skills(call.session, call.turn)}"), *others))


def personal_skills_in_tail(call: Call) -> Call:
    """What the design does: they come with the session's first turn, and again with the turn after a change."""
    head, *others = call.messages
    for turn, start in reversed(list(enumerate(_turn_starts(others), start=1))):
        skills = _personal_skills(call.session, turn)
        if turn == 1 or skills != _personal_skills(call.session, turn - 1):
            content = f"<personal_skills>\n{skills}\n</personal_skills>"
            others.insert(start, exact_json({"role": "user", "content": content}))
    return call.with_messages((head, *others))


ABLATIONS = (
    Ablation("l2_before_history", "bad", "L2 before the history", l2_before_history),
    Ablation("l5_dropped", "bad", "L5 dropped after its turn", l5_dropped),
    Ablation("memory_in_system", "bad", "memory in the system prompt", memory_in_system),
    Ablation("sliding_window", "long20", "sliding-window trimming", sliding_window),
    Ablation("moving_mark", "long20", "the mark that moves", moving_mark),
    Ablation("timestamp_in_head", "long20", "a timestamp in the head", timestamp_in_head),
    Ablation(
        "personal_skills_in_l1",
        "bad",
        "personal skills in L1",
        personal_skills_in_l1,
        baseline=personal_skills_in_tail,
    ),
)


def _personal_skills(session: int, turn: int) -> str:
    """The skills that the session's user has in a turn: one more every few turns."""
    return "\n".join(
        f"- my/skill-{session}-{number}: 用户自己写的第 {number} 个做法；提到它时先读我，其他时候不用读。"
        for number in range(1, 2 + turn // SKILL_EVERY)
    )


def _turn_starts(messages: Sequence[str]) -> list[int]:
    """Where each turn begins: at its user message, or at the blocks right before it."""
    starts: list[int] = []
    for position, text in enumerate(messages):
        if _is_user(text):
            while position and _is_turn_block(messages[position - 1]):
                position -= 1
            starts.append(position)
    return starts


def _is_user(text: str) -> bool:
    return text.startswith('{"role":"user"') and _USER in text


def _is_turn_block(text: str) -> bool:
    return any(_begins(text, mark) for mark in _TURN_BLOCKS)


def _begins(text: str, mark: str) -> bool:
    return mark in text[:80] and text_of(json.loads(text)).startswith(mark)


def _extended(message: str, addition: str) -> str:
    fields: dict[str, Any] = json.loads(message)
    return exact_json({**fields, "content": text_of(fields) + addition})


def _marked(message: str) -> str:
    fields: dict[str, Any] = json.loads(message)
    return exact_json({**fields, "content": [{"type": "text", "text": text_of(fields), **_MARK}]})
