"""The arguments of a tool call: a text that ought to be a JSON object, and what is wrong when it is not."""

import json
import math
import re
from enum import StrEnum
from typing import Any

from model_client.exact_json import well_formed_json

_UNFINISHED = re.compile(
    r"""\s* (?: "(?:[^"\\]|\\.)*\\?      # a string without its end
      | \\? u? [0-9a-fA-F]{0,4}            # an escape in it
      | t r? u? | f a? l? s? | n u? l?     # a literal
      | - | \. | [eE] [-+]?                # a number
    ) \Z""",
    re.DOTALL | re.VERBOSE,
)
"""What may stand from the place where a parser gives up to the end of a text that only lacks its end."""


class ArgumentsFault(StrEnum):
    CUT_OFF = "cut_off"
    """Valid so far, but the end is missing."""
    INVALID = "invalid"
    """Not JSON, or not an object."""


def read_arguments(text: str) -> dict[str, Any] | None:
    """The arguments of a call, or None when the text is not a JSON object.

    Their strings are well-formed: an escape like `\\ud83d` in the text, which the log keeps as it was streamed, is
    half a character and could be neither stored nor sent. Numbers are finite, as JSON has it.
    """
    try:
        value = well_formed_json(_parsed(text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def fault_of(text: str) -> ArgumentsFault | None:
    """What is wrong with the arguments. Finish reasons are mislabelled both ways, so only the text counts."""
    try:
        value = well_formed_json(_parsed(text))
    except json.JSONDecodeError as error:
        return ArgumentsFault.CUT_OFF if _UNFINISHED.match(text, error.pos) else ArgumentsFault.INVALID
    except (ValueError, RecursionError):
        return ArgumentsFault.INVALID
    return None if isinstance(value, dict) else ArgumentsFault.INVALID


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=_finite, parse_constant=_finite)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    return value
