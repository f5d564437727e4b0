"""What the system tells the model in the middle of a turn: notices, and corrections of what it did."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from offline_model.chat.requests import ChatMessage

_REPROOF = re.compile(r"\s*<(?:system_notice|correction(?: code=\"(?P<code>[a-z_]+)\")?)[ >]")
_WRAP_UP_SIGNS = ("收尾", "步数", "wrap up", "wrap-up", "step limit", "last step", "steps left")
LAST_ANSWER = "no_more_tools"


@dataclass(frozen=True)
class Reproof:
    text: str
    code: str | None = None
    """What a correction is about."""

    @property
    def corrects(self) -> bool:
        return self.text.lstrip().startswith("<correction")


def reproofs_in(messages: Sequence[ChatMessage]) -> Iterator[Reproof]:
    """In order. Plans, strategies and skills may use the same words, and are none."""
    for message in messages:
        found = _REPROOF.match(message.text) if message.role in ("system", "user") else None
        if found:
            yield Reproof(message.text, found["code"])


def asks_to_wrap_up(reproof: Reproof) -> bool:
    if reproof.corrects:
        return reproof.code == LAST_ANSWER
    text = reproof.text.casefold()
    return any(sign in text for sign in _WRAP_UP_SIGNS)
