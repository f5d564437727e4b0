"""A remembered text is one line that forges no structure: marks, control and invisible characters out."""

import re
import unicodedata

from memory.facts.gate.normalisation import is_invisible

# What could open or close one of our blocks, or a code fence, inside a remembered line.
_MARKS = re.compile(
    r"</?\s*(?:user_long_term_memory|external_content|turn_context|user_message|known_facts|user_words|final_reply"
    r"|system|assistant|tool_call|think|im_start|im_end)\b[^<>]*>|<\|[^<|>]*\|>|```+|~~~+",
    re.IGNORECASE,
)
_ANGLE_BRACKETS = re.compile(r"[<>]")


def one_line(text: str) -> str:
    """The text as it would be stored: one line, trimmed, single spaces."""
    visible = without_marks(text)
    if not (visible.isascii() and visible.isprintable()):
        visible = "".join(map(_shown, visible))
        # Removing an invisible character can complete a mark that it had split.
        visible = without_marks(visible)
    return " ".join(visible.split())


def without_marks(text: str) -> str:
    """Strip the marks; where that made a new one, someone is playing, and every angle bracket goes."""
    stripped = _MARKS.sub(" ", text)
    return _ANGLE_BRACKETS.sub(" ", stripped) if _MARKS.search(stripped) else stripped


def _shown(character: str) -> str:
    if unicodedata.category(character) in ("Cc", "Zl", "Zp"):
        return " "
    return "" if is_invisible(character) else character
