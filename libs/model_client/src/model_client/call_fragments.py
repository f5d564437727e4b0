"""Puts the fragments of tool calls together, whichever way a server labels them."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from model_client.answers import ArgumentsDelta, ToolCall
from model_client.arguments import read_arguments
from model_client.exact_json import well_formed

_USABLE_CALL_ID = re.compile(r"[A-Za-z0-9_.:-]{1,40}")
"""Providers cap the ids that they take back; the smallest known cap is 40."""


@dataclass
class _OpenCall:
    """A tool call whose fragments are still coming."""

    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)

    def has_complete_arguments(self) -> bool:
        return read_arguments("".join(self.arguments)) is not None


class CallFragments:
    """Feed it every fragment with `add`, then ask for the calls with `finish`."""

    def __init__(self, new_call_id: Callable[[], str], taken_call_ids: frozenset[str]) -> None:
        self._new_call_id = new_call_id
        self._taken = taken_call_ids
        self._calls: list[_OpenCall] = []
        self._call_at_index: dict[int, int] = {}

    def __bool__(self) -> bool:
        """Whether any call has begun."""
        return bool(self._calls)

    def add(self, fragment: Mapping[str, Any]) -> Iterator[ArgumentsDelta]:
        """Take a fragment in; yields what it adds to a call's arguments."""
        function = fragment.get("function")
        function = function if isinstance(function, Mapping) else {}
        call_id, name = _text_of(fragment.get("id")), _text_of(function.get("name"))
        position = self._position_of(fragment.get("index"), call_id, name)
        call = self._calls[position]
        call.call_id = call.call_id or call_id
        call.name = call.name or name
        arguments = function.get("arguments")
        text = json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else _text_of(arguments)
        if text:
            call.arguments.append(text)
            yield ArgumentsDelta(position, call.name, text)

    def finish(self) -> tuple[ToolCall, ...]:
        """Calls with ids of their own and blank arguments as `{}`; everything else as it was streamed."""
        seen = set(self._taken)
        finished: list[ToolCall] = []
        for call in self._calls:
            usable = _USABLE_CALL_ID.fullmatch(call.call_id) and call.call_id not in seen
            call_id = call.call_id if usable else self._new_call_id()
            seen.add(call_id)
            arguments = well_formed("".join(call.arguments))
            finished.append(ToolCall(call_id, well_formed(call.name), arguments if arguments.strip() else "{}"))
        return tuple(finished)

    def _position_of(self, index: object, call_id: str, name: str) -> int:
        """Which call a fragment belongs to: by a known id, else by index, else the last one.

        Servers leave out the index, use one index for several calls, send a call's tail under another index, or give
        several calls one id; a name under a new index begins a call whatever its id is.
        """
        if call_id and not (name and isinstance(index, int) and index not in self._call_at_index):
            for position, call in enumerate(self._calls):
                if call.call_id == call_id:
                    return position
        candidate = self._call_at_index.get(index) if isinstance(index, int) else None
        nothing_new = not call_id and not name
        if candidate is None and self._calls and (nothing_new or not isinstance(index, int)):
            candidate = len(self._calls) - 1
        if candidate is not None and not self._begins_another_call(self._calls[candidate], call_id, name):
            return candidate
        return self._open_call(index)

    def _open_call(self, index: object) -> int:
        self._calls.append(_OpenCall())
        position = len(self._calls) - 1
        if isinstance(index, int):
            self._call_at_index[index] = position
        return position

    @staticmethod
    def _begins_another_call(call: _OpenCall, call_id: str, name: str) -> bool:
        if call_id and call.call_id:
            return True  # known ids were found before
        return bool(name and call.name and (name != call.name or call.has_complete_arguments()))


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else ""
