"""JSON text that is written once and replayed byte for byte."""

import json
from typing import Any


def exact_json(value: Any) -> str:
    """The one way in which this system writes JSON for a model: key order as given, no spaces, no escapes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def well_formed(text: str) -> str:
    """Text that can be stored: surrogate halves that a stream had split are joined, lone ones and NUL replaced."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\x00", "\ufffd")
