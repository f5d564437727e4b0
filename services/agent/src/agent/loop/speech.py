"""What of an answer is told while it streams.

「记住了」 may be said only after memory has committed, and an answer that saves is not committed while it streams. An
answer that has an effectful call is therefore not told at all: its words stay in the log, and the model speaks again
once it has the receipts. Whether an answer has one is certain only at its end, so plain content and the reply of
`shopping_summary` are told as they come, and from the first word that could claim a memory they wait. What was told
of an answer that turns out to save is taken back.
"""

import re
from collections.abc import Callable, Iterable

from agent.loop.reply_reader import ReplyReader
from agent.tools import shopping_summary
from model_client.answers import ArgumentsDelta, TextDelta, ToolCall
from model_client.exact_json import well_formed

_MUST_WAIT = re.compile(
    r"(?<!笔)[记記]|(?<![库内])存"
    r"|\b(?:remember|memor|sav(?:e|ing)|not(?:e(?!book)|ing)|stor|keep|kept)"
    r"|[A-Za-z]+\Z"  # a word that may not be whole yet
    r"|[\ud800-\udbff]\Z",  # nor this character
    re.IGNORECASE,
)
"""Where a reply stops being told as it comes. Too much here costs only time."""


class AnswerSpeech:
    """One attempt at an answer. Takes its deltas in and gives back what may be told now."""

    def __init__(self, is_effectful: Callable[[str], bool]) -> None:
        self._is_effectful = is_effectful
        self._replies: dict[int, ReplyReader] = {}
        self._text = ""
        self._told = 0
        self._has_effect = False

    def hear(self, delta: TextDelta | ArgumentsDelta) -> str:
        match delta:
            case TextDelta(text):
                self._text += text
                return self._tell(self._end_of_harmless_words())
            case ArgumentsDelta(position, shopping_summary.NAME, fragment):
                self._text += self._replies.setdefault(position, ReplyReader()).feed(fragment)
                return self._tell(self._end_of_harmless_words())
            case ArgumentsDelta(_, name, _):
                self._has_effect = self._has_effect or self._is_effectful(name)
        return ""

    def rest(self, calls: Iterable[ToolCall]) -> str | None:
        """What is left to tell of the whole answer, or None where nothing of it may stand."""
        if any(self._is_effectful(call.name) for call in calls):
            return None
        return self._tell(len(self._text))

    def _tell(self, end: int) -> str:
        if self._has_effect:
            return ""
        piece, self._told = self._text[self._told : end], end
        return well_formed(piece)

    def _end_of_harmless_words(self) -> int:
        must_wait = _MUST_WAIT.search(self._text, self._told)
        return len(self._text) if must_wait is None else must_wait.start()
