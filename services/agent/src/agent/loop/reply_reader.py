"""Reads the reply out of `shopping_summary`'s arguments while they stream, so that it can be shown as it comes."""

import json
import re

_BEGIN = re.compile(r'\s*\{\s*"reply"\s*:\s*"')
_PAIR = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_CHARACTER = re.compile(rf'[^"\\]|\\(?:["\\/bfnrt]|{_PAIR}|u[0-9a-fA-F]{{4}})')
_HALF_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")


class ReplyReader:
    """Works where `reply` is the first field, as the schema has it; else it reads nothing and nothing is lost."""

    def __init__(self) -> None:
        self._arguments = ""
        self._position: int | None = None

    def feed(self, fragment: str) -> str:
        """Take a fragment of the arguments in; returns the text of the reply that it completes."""
        self._arguments += fragment
        if self._position is None:
            begin = _BEGIN.match(self._arguments)
            if begin is None:
                return ""
            self._position = begin.end()
        end = self._end_of_whole_characters(self._position)
        raw, self._position = self._arguments[self._position : end], end
        return str(json.loads(f'"{raw}"', strict=False)) if raw else ""

    def _end_of_whole_characters(self, position: int) -> int:
        """Where the last whole character ends: an escape or a surrogate pair may still be on its way."""
        while (character := _CHARACTER.match(self._arguments, position)) is not None:
            is_half = _HALF_PAIR.fullmatch(character.group())
            if is_half and len(self._arguments) - character.end() < len("\\uDC00"):
                break
            position = character.end()
        return position
