"""`validate_fact`: the only door to the facts table.

Every write passes it, whoever writes: save_memory, curator, preference page, restore, import, replay (S0 section 8).
It is synchronous, deterministic and without a model: it keeps out what has the form of an identifier. A refusal
names the rule and the key, never the value.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from common.memory_api.facts import KEY_MAX, VALUE_MAX, MemoryCategory

REFUSAL_MESSAGE = "长期记忆只放偏好和长期规则，不放账号、卡号、证件或联系方式"


@dataclass(frozen=True)
class ValidFact:
    """A fact that may be stored: key and value in their stored form."""

    key: str
    value: str
    category: MemoryCategory


@dataclass(frozen=True)
class FactRefusal:
    """Why not. `key` is None where the key itself is the identifier."""

    rule: str
    key: str | None


def validate_fact(key: str, value: str, category: str | None) -> ValidFact | FactRefusal:
    """Bring a fact into its stored form, or say which rule refuses it."""
    clean_key = clean_fact_key(key)
    clean_value = _one_line(value)
    if (rule := _first_identifier(key)) is not None:
        return FactRefusal(rule, None)
    for rule_id, refuses in _FORM_RULES:
        if refuses(clean_key, clean_value):
            return FactRefusal(rule_id, clean_key[:KEY_MAX] or None)
    # Scanned whole and as it came: stripping must not join what the writer had apart, or hide what it had.
    for text in (value, clean_value):
        if (rule := _first_identifier(text)) is not None:
            return FactRefusal(rule, clean_key)
    return ValidFact(clean_key, clean_value, _category(category))


def clean_fact_key(key: str) -> str:
    """「Ship To」 and `ship_to` are one key: lower case, spaces to underscores."""
    folded = unicodedata.normalize("NFKC", _without_marks(key)).lower()
    return re.sub(r"[\s_]+", "_", folded).strip("_")


# What could open or close one of our blocks, or a code fence, inside a remembered line.
_MARKS = re.compile(
    r"</?\s*(?:user_long_term_memory|external_content|turn_context|user_message|known_facts|user_words|final_reply"
    r"|system|assistant|tool_call|think|im_start|im_end)\b[^>]*>|<\|[^|>]*\|>|```+|~~~+",
    re.IGNORECASE,
)


def _without_marks(text: str) -> str:
    """Strip until nothing is left to strip, so that a mark made by a removal goes too."""
    previous = None
    while previous != text:
        previous, text = text, _MARKS.sub(" ", text)
    return text


def _one_line(value: str) -> str:
    """One fact is one line: marks, control and format characters out, white space folded."""
    visible = "".join(
        " " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character
        for character in _without_marks(value)
        if unicodedata.category(character) not in ("Cf", "Cs", "Co", "Cn")
    )
    # Removing a format character can complete a mark that it had split.
    return " ".join(_without_marks(visible).split())


def _category(category: str | None) -> MemoryCategory:
    """A wrong category costs one step of priority; refusing would cost the whole fact (S0 section 8)."""
    try:
        return MemoryCategory(category or "")
    except ValueError:
        return MemoryCategory.PREFERENCE


_KEY_FORM = re.compile(r"[\w.\-]+")

_FORM_RULES: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    ("key-empty", lambda key, _: not key),
    ("key-too-long", lambda key, _: len(key) > KEY_MAX),
    ("key-form", lambda key, _: _KEY_FORM.fullmatch(key) is None),
    ("value-empty", lambda _, value: not value),
    ("value-too-long", lambda _, value: len(value) > VALUE_MAX),
)

_SEPARATORS = r"[ \-.()]"
_DATE_OR_TIME = re.compile(
    r"(?<!\d)(?:19|20)\d\d[-/.年](?:0?[1-9]|1[0-2])(?:[-/.月](?:0?[1-9]|[12]\d|3[01])日?)?(?!\d)"
    r"|(?<!\d)(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?!\d)"
)
_STANDARD = re.compile(r"(?<![a-z])(?:gb|iso|iec|en|din|astm|jis|ansi)(?:[ /]?t)?[ /-]?\d{3,6}(?:[-.:]\d{1,4})*(?!\d)")
_LONG_NUMBER = re.compile(rf"\d(?:{_SEPARATORS}*\d){{8}}")
_IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}\d{2}(?: ?[a-z0-9]){11,30}(?![a-z0-9])")
_EMAIL = re.compile(r"[^\s@<>,;:]{1,64}@[^\s@<>,;:]{1,255}\.[^\s@<>,;:.]{2,}")

_IDENTIFIER_RULES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("identifier-iban", lambda text: _IBAN.search(text) is not None),
    ("identifier-number", lambda text: _LONG_NUMBER.search(_without_known_numbers(text)) is not None),
    ("identifier-email", lambda text: _EMAIL.search(text) is not None),
)


def _without_known_numbers(text: str) -> str:
    """Dates, times and numbers of standards are no identifiers; what stands between them is still looked at."""
    return _DATE_OR_TIME.sub("~", _STANDARD.sub("~", text))


def _first_identifier(text: str) -> str | None:
    copy = _scanned_copy(text)
    return next((rule_id for rule_id, found in _IDENTIFIER_RULES if found(copy)), None)


def _scanned_copy(text: str) -> str:
    """The copy that is looked at: full-width and other digits folded, invisible and combining characters out."""
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = (character for character in folded if unicodedata.category(character) not in ("Cf", "Mn", "Me", "Cc"))
    return "".join(
        str(unicodedata.digit(character)) if unicodedata.category(character) == "Nd" else character
        for character in kept
    )
