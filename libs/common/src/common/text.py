"""Text that may enter the system: what PostgreSQL, JSON and a terminal can all carry."""

import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

USER_TEXT_MAX = 8_000
"""Longest user message, in characters."""


_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text itself. Raises ValueError where something between here and the reader could not carry it."""
    if "\x00" in text:
        raise ValueError("must not contain NUL")
    if _SURROGATE.search(text):
        raise ValueError("must be well-formed Unicode (no lone surrogates)")
    return text


StorableText = Annotated[str, AfterValidator(storable)]
"""A string without NUL and lone surrogates; everything else is the user's own business."""

UserText = Annotated[
    str, StringConstraints(min_length=1, max_length=USER_TEXT_MAX, pattern=r"\S"), AfterValidator(storable)
]


def normalise(text: str) -> str:
    """Fold a text for comparison: NFKC, case, format and combining characters, white space.

    For comparing only; what is stored and shown is what the user wrote.
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    visible = "".join(character for character in folded if unicodedata.category(character) not in ("Cf", "Mn"))
    return " ".join(visible.split())
