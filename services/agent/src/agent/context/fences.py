"""Fences: the tags that tell the model whose words it reads. Words from outside cannot close or open one."""

import re

_TAGS = ("turn_context", "user_message", "user_long_term_memory", "external_content", "system_notice")
_INVISIBLE = "[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*"
_FENCE_MARK = re.compile(f"<(?={_INVISIBLE}/?{_INVISIBLE}(?:{'|'.join(_TAGS)}))", re.IGNORECASE)


def neutralise(text: str) -> str:
    """The text with every fence mark in it made harmless: its `<` becomes a full-width one, the rest stays."""
    return _FENCE_MARK.sub("＜", text)


def one_line(text: str) -> str:
    """The text on one line and without fence marks, for a place in a list."""
    return neutralise(" ".join(text.split()))


def external_content(source: str, content: str) -> str:
    return f'<external_content source="{source}">\n{neutralise(content)}\n</external_content>'
