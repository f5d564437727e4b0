"""How well a fact is supported, and what it costs to miss it. Pure: made from what is stored, so never out of date."""

from common.memory_api.facts import FactSource, MemoryCategory

_DOUBT = {FactSource.CURATOR: 0.3, FactSource.SAVE_MEMORY: 0.1, FactSource.USER: 0.0, FactSource.IMPORT: 0.0}
"""What is left open by the first turn that says it; every further turn halves it."""

_IMPORTANCE = {MemoryCategory.CONSTRAINT: 1.0, MemoryCategory.PREFERENCE: 0.6, MemoryCategory.CONTEXT: 0.4}


def confidence(source: FactSource, evidence: int) -> float:
    """Between 0 and 1. `evidence` is the number of turns that support the fact."""
    return round(1.0 - _DOUBT[source] * 0.5 ** max(0, evidence - 1), 3)


def importance(category: MemoryCategory) -> float:
    """Between 0 and 1: a missed rule means the wrong product, a missed preference only a poorer choice."""
    return _IMPORTANCE[category]
