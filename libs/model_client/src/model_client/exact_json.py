"""JSON text that is written once and replayed byte for byte."""

import json
from typing import Any

_LABEL_MAX = 64
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def exact_json(value: Any) -> str:
    """The one way in which this system writes JSON for a model: key order as given, no spaces, no escapes."""
    return _ENCODER.encode(value)


def well_formed(text: str) -> str:
    """Text that can be stored: surrogate halves that a stream had split are joined, lone ones and NUL replaced."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "\ufffd")


def well_formed_json(value: Any) -> Any:
    """A JSON value whose strings, names of fields included, can all be stored. May raise RecursionError."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [well_formed_json(each) for each in value]
    if isinstance(value, dict):
        return {well_formed(name): well_formed_json(each) for name, each in value.items()}
    return value


def label(text: str) -> str:
    """A provider's name for something, fit for storing and counting: printable characters, at most 64."""
    return "".join(character for character in text if character.isprintable())[:_LABEL_MAX]
