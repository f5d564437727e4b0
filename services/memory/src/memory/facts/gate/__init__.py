"""The only door to long-term memory: `validate_fact` and the ordered rules it goes by (design section 7)."""

from memory.facts.gate.fact import FactRefusal, ValidFact, clean_fact_key, refusal_message, validate_fact
from memory.facts.gate.rules import BUILT_IN_RULES, IdentifierRule, find_identifier

__all__ = [
    "BUILT_IN_RULES",
    "FactRefusal",
    "IdentifierRule",
    "ValidFact",
    "clean_fact_key",
    "find_identifier",
    "refusal_message",
    "validate_fact",
]
