"""Facts for tests."""

from datetime import UTC, datetime
from uuid import uuid4

from common.memory_api.facts import Fact, FactSource, MemoryCategory


def a_fact(key: str, value: str, category: str = "preference", *, seq: int = 1, subject: str = "self") -> Fact:
    now = datetime.now(UTC)
    return Fact(
        fact_id=uuid4(),
        key=key,
        value=value,
        category=MemoryCategory(category),
        subject=subject,
        source=FactSource.CURATOR,
        seq=seq,
        session_id=None,
        turn_id=None,
        evidence=1,
        created_at=now,
        updated_at=now,
    )
