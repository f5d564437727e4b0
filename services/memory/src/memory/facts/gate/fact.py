"""`validate_fact`: the only door to the facts table.

Every write passes it, whoever writes: save_memory, curator, preference page, restore, import, replay (S0 section 8).
It is synchronous, deterministic and without a model. A refusal names the rule and the key, never the value.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.memory_api.facts import KEY_MAX, VALUE_MAX, MemoryCategory
from memory.facts.gate.line import one_line
from memory.facts.gate.rules import IdentifierRule, find_identifier

REFUSAL_MESSAGE = "长期记忆只放偏好和长期规则，不放账号、卡号、证件或联系方式"


@dataclass(frozen=True)
class ValidFact:
    """A fact that may be stored: key and value in their stored form. Only `validate_fact` makes one."""

    key: str
    value: str
    category: MemoryCategory


@dataclass(frozen=True)
class FactRefusal:
    """Why not. `key` is None where the key itself is the identifier."""

    rule: str
    key: str | None


def validate_fact(
    key: str, value: str, category: str | None, rules: Sequence[IdentifierRule]
) -> ValidFact | FactRefusal:
    """Bring a fact into its stored form, or say which rule refuses it: form first, then identifiers.

    `rules` are the built-in ones and those of the operator (`Policy.identifier_rules`); there is no way around them.
    """
    clean_key = clean_fact_key(key)
    about = _spaced(clean_key)
    for text in dict.fromkeys((about, key.replace("_", " "))):
        if (rule := find_identifier(text, rules)) is not None:
            return FactRefusal(rule, None)
    clean_value = one_line(value)
    for rule_id, refuses in _FORM_RULES:
        if refuses(clean_key, clean_value):
            return FactRefusal(rule_id, clean_key[:KEY_MAX] or None)
    if (rule := find_identifier(clean_value, rules, about)) is not None:
        return FactRefusal(rule, clean_key)
    return ValidFact(clean_key, clean_value, _category(category))


def clean_fact_key(key: str) -> str:
    """「Ship To」 and `ship_to` are one key: lower case, spaces to underscores."""
    folded = unicodedata.normalize("NFKC", one_line(key)).lower()
    return re.sub(r"[\s_]+", "_", folded).strip("_")


def _spaced(key: str) -> str:
    return re.sub(r"[_.\-]+", " ", key)


def _category(category: str | None) -> MemoryCategory:
    """A wrong category costs one step of priority; refusing would cost the whole fact (S0 section 8)."""
    try:
        return MemoryCategory(category or "")
    except ValueError:
        return MemoryCategory.PREFERENCE


_REFUSED_FORM = {
    "key-empty": "没有写 key · the key is empty",
    "key-too-long": f"key 最多 {KEY_MAX} 个字符 · a key has at most {KEY_MAX} characters",
    "key-form": "key 只用文字、数字、下划线、点和连字符 · a key has letters, digits, _, . and - only",
    "value-empty": "内容是空的 · the value is empty",
    "value-too-long": f"内容最多 {VALUE_MAX} 个字符 · a value has at most {VALUE_MAX} characters",
}


def refusal_message(rule: str) -> str:
    """What a person is told of a refusal."""
    return _REFUSED_FORM.get(rule, REFUSAL_MESSAGE)


_KEY_FORM = re.compile(r"[\w.\-]+")

_FORM_RULES: tuple[tuple[str, Callable[[str, str], bool]], ...] = (
    ("key-empty", lambda key, _: not key),
    ("key-too-long", lambda key, _: len(key) > KEY_MAX),
    ("key-form", lambda key, _: _KEY_FORM.fullmatch(key) is None),
    ("value-empty", lambda _, value: not value),
    ("value-too-long", lambda _, value: len(value) > VALUE_MAX),
)
