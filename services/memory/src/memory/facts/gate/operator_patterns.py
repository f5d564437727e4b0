"""Patterns that an operator adds (`MEMORY_PII_PATTERNS`), in RE2: linear time whatever the pattern and the text."""

import re
from collections.abc import Mapping

import re2

from memory.facts.gate.normalisation import ScannedText
from memory.facts.gate.rules import IdentifierRule

_NAME = re.compile(r"[a-z][a-z0-9\-]{0,39}")


def operator_rules(patterns: Mapping[str, str]) -> tuple[IdentifierRule, ...]:
    """A rule `operator-<name>` for each pattern. ValueError names the one that cannot be used, and why.

    Patterns ignore case and are tried on the normalised text, also with its Chinese numerals as digits.
    """
    return tuple(_rule(name, pattern) for name, pattern in patterns.items())


def _rule(name: str, pattern: str) -> IdentifierRule:
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"pattern name {name!r}: lower-case letters, digits and dashes, at most 40")
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False  # RE2 would print the pattern
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise ValueError(f"pattern {name!r} is not RE2 syntax: {_reason(error)}") from None
    if compiled.search("") is not None:
        raise ValueError(f"pattern {name!r} matches an empty text and would refuse everything")

    def found_in(scanned: ScannedText) -> bool:
        if compiled.search(scanned.text) is not None:
            return True
        return scanned.numbers != scanned.text and compiled.search(scanned.numbers) is not None

    return IdentifierRule(f"operator-{name}", found_in)


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
