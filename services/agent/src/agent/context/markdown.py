"""Markdown files with frontmatter: what skills and strategies are written in."""

import re
from dataclasses import dataclass
from typing import Any

import yaml

_FRONTMATTER = re.compile(r"\A---[ \t]*\r?\n(?P<fields>.*?)^---[ \t]*\r?\n?(?P<body>.*)\Z", re.DOTALL | re.MULTILINE)


class InvalidMarkdown(Exception):
    """The file cannot be used; the message says why."""


@dataclass(frozen=True)
class Document:
    fields: dict[str, Any]
    body: str


def read_document(text: str) -> Document:
    """The frontmatter's fields and the body, which begins and ends without white space. Raises InvalidMarkdown."""
    found = _FRONTMATTER.match(text.removeprefix("\ufeff"))
    if found is None:
        raise InvalidMarkdown("it does not begin with frontmatter between two lines of ---")
    try:
        fields = yaml.safe_load(found["fields"])
    except yaml.YAMLError as error:
        raise InvalidMarkdown("its frontmatter is not valid YAML") from error
    if not isinstance(fields, dict):
        raise InvalidMarkdown("its frontmatter is not a list of fields")
    return Document(fields, found["body"].strip())
