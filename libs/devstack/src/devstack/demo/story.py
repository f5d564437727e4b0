"""The story: a new user's words become facts, the facts work in other sessions, and what is deleted stays gone."""

from devstack.demo.chapters.changed_mind import changed_mind
from devstack.demo.chapters.costs import costs
from devstack.demo.chapters.first_meeting import another_session, first_meeting
from devstack.demo.chapters.forgetting import all_memory_cleared, one_fact_deleted
from devstack.demo.chapters.gift import gift
from devstack.demo.chapters.landed_price import landed_price
from devstack.demo.chapters.order import order
from devstack.demo.chapters.saved_at_once import saved_at_once
from devstack.demo.chapters.travel_set import travel_set
from devstack.demo.telling import Telling

CHAPTERS = (
    first_meeting,
    another_session,
    saved_at_once,
    travel_set,
    gift,
    landed_price,
    order,
    changed_mind,
    one_fact_deleted,
    all_memory_cleared,
    costs,
)
"""Each builds on those before it: what they remembered, found and ordered."""


async def tell(telling: Telling) -> bool:
    """Whether everything that was claimed was true."""
    for chapter in CHAPTERS:
        await chapter(telling)
    return telling.claims.verdict()
