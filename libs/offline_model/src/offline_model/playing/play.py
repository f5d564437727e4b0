"""What a player decides: words for the user, or calls of tools."""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PlayedCall:
    name: str
    arguments: str
    """JSON text."""


@dataclass(frozen=True)
class Play:
    text: str = ""
    calls: tuple[PlayedCall, ...] = ()


def call(name: str, /, **arguments: Any) -> PlayedCall:
    """A call with those arguments that are there: None and empty lists are left out."""
    given = {key: value for key, value in arguments.items() if value is not None and value != []}
    return PlayedCall(name, json.dumps(given, ensure_ascii=False))
