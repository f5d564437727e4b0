"""The list of facts as its user pages through it. Values are encrypted, so it is filtered here and not in PostgreSQL;
a user has some hundred facts at most (`MEMORY_MAX_FACTS`)."""

import base64
import binascii
from collections.abc import Sequence

from common.memory_api.facts import Fact, FactPage, ListFacts
from common.problems import ProblemCode, ProblemError
from memory.database.transactions import UserTransaction
from memory.facts.matching import match_facts
from memory.facts.rows import read_facts


async def list_facts(tx: UserTransaction, request: ListFacts) -> FactPage:
    chosen = [
        fact
        for fact in match_facts(await read_facts(tx), request.text or "")
        if request.category in (None, fact.category) and request.source in (None, fact.source)
    ]
    page, next_cursor = _page(chosen, request)
    return FactPage(facts=page, next_cursor=next_cursor, memory_enabled=tx.policy.memory_enabled)


def _page(facts: Sequence[Fact], request: ListFacts) -> tuple[list[Fact], str | None]:
    """The facts after the cursor. What is written while somebody pages comes before the first page, so that nothing is
    shown twice and nothing that stays as it is is left out."""
    if request.cursor is not None:
        after = _place_at(request.cursor)
        facts = [fact for fact in facts if _place(fact) > after]
    page = list(facts[: request.limit])
    more = len(facts) > len(page)
    return page, _cursor_at(page[-1]) if more else None


def _place(fact: Fact) -> tuple[int, str]:
    """Newest first, ties by key."""
    return -fact.seq, fact.key


def _cursor_at(fact: Fact) -> str:
    return base64.urlsafe_b64encode(f"{fact.seq}:{fact.key}".encode()).decode()


def _place_at(cursor: str) -> tuple[int, str]:
    try:
        seq, key = base64.urlsafe_b64decode(cursor.encode()).decode().split(":", 1)
        return -int(seq), key
    except (ValueError, binascii.Error):
        raise ProblemError(ProblemCode.INVALID_REQUEST, "cursor is none that was given out") from None
