"""The only door to long-term memory: `validate_fact` and the ordered rules it goes by (design section 7)."""

from memory.facts.gate.fact import REFUSAL_MESSAGE, FactRefusal, ValidFact, clean_fact_key, validate_fact
from memory.facts.gate.rules import BUILT_IN_RULES, IdentifierRule, find_identifier

__all__ = [
    "BUILT_IN_RULES",
    "REFUSAL_MESSAGE",
    "FactRefusal",
    "IdentifierRule",
    "ValidFact",
    "clean_fact_key",
    "find_identifier",
    "validate_fact",
]
