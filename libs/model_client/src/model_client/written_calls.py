"""Tool calls that a model wrote into its text or reasoning, where its server did not see them as calls.

They are taken for calls only where every one can be read and is of a tool that was offered, and never beside real
calls. Two ways of writing are known, both of Qwen's templates: a JSON object, and one tag per parameter.
"""

import json
import re
from typing import Any

from model_client.arguments import read_arguments
from model_client.exact_json import exact_json

BEGIN = "<tool_call>"

_BLOCK = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([^>\s]+)>(.*?)(?:</function>\s*)?", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)

WrittenCall = tuple[str, str]
"""Name and arguments, the latter as JSON text."""


class WrittenCallGate:
    """Holds back streamed text from where a written call may begin, so that nobody is shown one."""

    def __init__(self) -> None:
        self._text = ""
        self.told = 0
        """How many characters may have been shown."""

    def add(self, text: str) -> str:
        """Take more text in; returns what may be shown now."""
        self._text += text
        begin = self._text.find(BEGIN, max(0, self.told - len(BEGIN)))
        end = len(self._text) - _length_of_begun(self._text) if begin < 0 else begin
        piece, self.told = self._text[self.told : max(end, self.told)], max(end, self.told)
        return piece


def without_written_calls(text: str) -> str:
    left = _BLOCK.sub("", text)
    return left if left.strip() else ""


def read_written_calls(text: str, tools: str) -> tuple[WrittenCall, ...] | None:
    """The calls, each once, or None where one cannot be read. `tools` is the array that was offered, as JSON text."""
    offered = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in json.loads(tools)}
    calls = [_read(block, offered) for block in _BLOCK.findall(text)]
    return None if not calls or None in calls else tuple(dict.fromkeys(call for call in calls if call is not None))


def _read(block: str, offered: dict[str, dict[str, Any]]) -> WrittenCall | None:
    call = _read_json(block) or _read_tags(block, offered)
    return call if call is not None and call[0] in offered else None


def _read_json(block: str) -> WrittenCall | None:
    call = read_arguments(block)
    if call is None or not isinstance(call.get("name"), str):
        return None
    arguments = call.get("arguments", {})
    if isinstance(arguments, str):
        return (call["name"], arguments) if read_arguments(arguments) is not None else None
    return (call["name"], exact_json(arguments)) if isinstance(arguments, dict) else None


def _read_tags(block: str, offered: dict[str, dict[str, Any]]) -> WrittenCall | None:
    function = _FUNCTION.fullmatch(block)
    if function is None:
        return None
    name, body = function.groups()
    properties = offered.get(name, {}).get("properties", {})
    if _PARAMETER.sub("", body).strip():
        return None
    arguments = {key: _typed(value, properties.get(key, {})) for key, value in _PARAMETER.findall(body)}
    return name, exact_json(arguments)


def _typed(value: str, schema: dict[str, Any]) -> Any:
    """A tag's text as the schema has it: what is no string there is JSON here."""
    if schema.get("type") == "string":
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _length_of_begun(text: str) -> int:
    """Length of the text's end that may be the beginning of a call."""
    return next((length for length in range(len(BEGIN) - 1, 0, -1) if text.endswith(BEGIN[:length])), 0)
