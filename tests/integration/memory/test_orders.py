"""Orders: one card per effect, settled once, by its user and in time."""

import asyncio
from decimal import Decimal
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from tests.support.memory_service import ATurn, MemoryService
from tests.support.orders import an_order, propose, settle
from tests.support.waiting import wait_for

from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.operations import Service
from common.memory_api.orders import ListOrders, NewOrder, OrderCard, OrderRequest, Orders, OrderState
from common.memory_api.turns import ReleaseTurn
from common.problems import ProblemCode, ProblemError
from devstack.database import DatabaseUrls

BACKPACK = "金丝雀背包"


async def running_turn(memory: MemoryService, owner: Owner) -> ATurn:
    turn = await memory.accept(owner, "就买这个")
    await memory.claim(turn)
    return turn


async def proposed(memory: MemoryService, owner: Owner) -> OrderCard:
    card = await propose(memory, await running_turn(memory, owner), an_order(BACKPACK))
    return OrderCard.model_validate(card.model_dump(exclude={"existed"}))


async def listed(memory: MemoryService, owner: Owner, state: OrderState | None = None) -> list[OrderCard]:
    found: Orders = await memory.call(Service.GATEWAY, op.LIST_ORDERS, ListOrders(owner=owner, state=state))
    return found.orders


async def refusal(memory: MemoryService, owner: Owner, card: OrderCard, how: Any) -> tuple[int, str, Any]:
    with pytest.raises(ProblemError) as caught:
        await settle(memory, owner, card, how)
    problem = caught.value.problem
    return problem.status, problem.code, (problem.model_extra or {}).get("state")


async def test_a_proposed_card_waits_for_its_user(memory: MemoryService, owner: Owner) -> None:
    card = await proposed(memory, owner)
    assert card.state is OrderState.PENDING
    assert [(total.amount, total.currency) for total in card.totals] == [(Decimal("598.00"), "CNY")]
    assert await listed(memory, owner, OrderState.PENDING) == [card]


async def test_the_same_call_proposes_one_card_also_in_a_later_attempt(memory: MemoryService, owner: Owner) -> None:
    turn = await running_turn(memory, owner)
    first = await propose(memory, turn, an_order(BACKPACK))
    handed_back = ReleaseTurn(owner=owner, turn_id=turn.turn_id, lease_token=turn.token)
    await memory.call(Service.AGENT, op.RELEASE_TURN, handed_back)
    turn.token = uuid4()
    assert (await memory.claim(turn)).attempt == 2
    again = await propose(memory, turn, an_order(BACKPACK))
    other = await propose(memory, turn, an_order(BACKPACK, quantity=3), call_id="call_2")
    assert again == first
    assert {card.order_id for card in await listed(memory, owner)} == {first.order_id, other.order_id}


async def test_the_same_order_under_another_call_id_is_the_card_that_exists(
    memory: MemoryService, owner: Owner
) -> None:
    turn = await running_turn(memory, owner)
    first = await propose(memory, turn, an_order(BACKPACK))
    # A title is in the user's language of the turn.
    again = await propose(memory, turn, an_order("Canary backpack"), call_id="call_2")
    assert not first.existed
    assert again == first.model_copy(update={"existed": True})
    await settle(memory, owner, first, op.CANCEL_ORDER)
    turned_down = await propose(memory, turn, an_order(BACKPACK), call_id="call_3")
    assert (turned_down.order_id, turned_down.state) == (first.order_id, OrderState.CANCELLED)
    assert len(await listed(memory, owner)) == 1


async def test_two_calls_at_once_make_one_card(
    memory: MemoryService, module_database: DatabaseUrls, owner: Owner
) -> None:
    turn = await running_turn(memory, owner)
    somebody = await asyncpg.connect(module_database.admin)

    async def both_wait() -> bool:
        return int(await somebody.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")) == 2

    try:
        async with somebody.transaction():
            # Cards can be looked for and not added: whoever has looked and found none is stopped here.
            await somebody.execute("LOCK TABLE orders IN SHARE MODE")
            calls = [
                asyncio.create_task(propose(memory, turn, an_order(BACKPACK), call_id=call_id))
                for call_id in ("a", "b")
            ]
            await wait_for(both_wait, "both calls wait")
    finally:
        await somebody.close()
    cards = await asyncio.gather(*calls)
    assert len({card.order_id for card in cards}) == len(await listed(memory, owner)) == 1
    assert {card.existed for card in cards} == {False, True}


@pytest.mark.parametrize(
    "other",
    [
        an_order(BACKPACK, quantity=1),
        an_order(BACKPACK, price="199.00"),
        an_order(BACKPACK).model_copy(update={"destination": "FR"}),
        an_order(BACKPACK).model_copy(update={"lines": [*an_order(BACKPACK).lines, *an_order(BACKPACK).lines]}),
    ],
    ids=["quantity", "price", "destination", "lines"],
)
async def test_what_differs_is_a_card_of_its_own(memory: MemoryService, owner: Owner, other: NewOrder) -> None:
    turn = await running_turn(memory, owner)
    await propose(memory, turn, an_order(BACKPACK))
    assert not (await propose(memory, turn, other, call_id="call_2")).existed
    assert len(await listed(memory, owner)) == 2


async def next_turn(memory: MemoryService, turn: ATurn) -> ATurn:
    await memory.finish(turn, (await memory.claim(turn)).head)
    later = await memory.accept(turn.owner, "再来一次", session_id=turn.session_id)
    await memory.claim(later)
    return later


async def test_a_later_turn_of_the_session_finds_the_card_while_it_waits(memory: MemoryService, owner: Owner) -> None:
    turn = await running_turn(memory, owner)
    first = await propose(memory, turn, an_order(BACKPACK))
    turn = await next_turn(memory, turn)
    assert await propose(memory, turn, an_order(BACKPACK)) == first.model_copy(update={"existed": True})
    await settle(memory, owner, first)
    turn = await next_turn(memory, turn)
    assert not (await propose(memory, turn, an_order(BACKPACK))).existed
    turn = await next_turn(memory, turn)
    memory.clock.advance(60 * memory.settings.order_expiry_minutes + 1)
    await memory.claim(turn)
    assert not (await propose(memory, turn, an_order(BACKPACK))).existed
    other_session = await running_turn(memory, owner)
    assert not (await propose(memory, other_session, an_order(BACKPACK))).existed
    assert len(await listed(memory, owner)) == 4


@pytest.mark.parametrize("how", [op.CONFIRM_ORDER, op.CANCEL_ORDER], ids=["confirmed", "cancelled"])
async def test_a_card_that_is_settled_while_a_later_turn_runs_is_still_its_answer(
    memory: MemoryService, owner: Owner, how: Any
) -> None:
    """The turn was told of the card; a repeated call must not make a second one, of which the user could buy too."""
    turn = await running_turn(memory, owner)
    first = await propose(memory, turn, an_order(BACKPACK))
    turn = await next_turn(memory, turn)
    assert (await propose(memory, turn, an_order(BACKPACK))).order_id == first.order_id
    settled = await settle(memory, owner, first, how)
    repeated = [await propose(memory, turn, an_order(BACKPACK), call_id=call_id) for call_id in ("call_1", "call_2")]
    handed_back = ReleaseTurn(owner=owner, turn_id=turn.turn_id, lease_token=turn.token)
    await memory.call(Service.AGENT, op.RELEASE_TURN, handed_back)
    turn.token = uuid4()
    assert (await memory.claim(turn)).attempt == 2
    repeated.append(await propose(memory, turn, an_order(BACKPACK)))
    assert {(card.order_id, card.state, card.existed) for card in repeated} == {(first.order_id, settled.state, True)}
    assert len(await listed(memory, owner)) == 1


async def test_a_card_that_expired_is_no_card_of_the_same(memory: MemoryService, owner: Owner) -> None:
    """Also in its own turn. The call that made it still finds it: a call has one card."""
    turn = await running_turn(memory, owner)
    first = await propose(memory, turn, an_order(BACKPACK))
    memory.clock.advance(60 * memory.settings.order_expiry_minutes + 1)
    other = await propose(memory, turn, an_order(BACKPACK), call_id="call_2")
    assert (other.state, other.existed) == (OrderState.PENDING, False)
    again = await propose(memory, turn, an_order(BACKPACK))
    assert (again.order_id, again.state) == (first.order_id, OrderState.EXPIRED)
    third = await propose(memory, turn, an_order(BACKPACK), call_id="call_3")
    assert (third.order_id, third.existed) == (other.order_id, True)


async def test_without_the_lease_there_is_no_card(memory: MemoryService, owner: Owner) -> None:
    turn = await running_turn(memory, owner)
    turn.token = uuid4()
    with pytest.raises(ProblemError) as caught:
        await propose(memory, turn, an_order(BACKPACK))
    assert caught.value.code is ProblemCode.LEASE_LOST
    assert await listed(memory, owner) == []


async def test_a_turn_that_memory_was_cleared_under_makes_no_card(memory: MemoryService, owner: Owner) -> None:
    turn = await running_turn(memory, owner)
    await memory.clear(owner)
    with pytest.raises(ProblemError):
        await propose(memory, turn, an_order(BACKPACK))
    assert await listed(memory, owner) == []


async def test_confirming_is_once_and_becomes_behaviour(memory: MemoryService, owner: Owner) -> None:
    card = await proposed(memory, owner)
    answers = await asyncio.gather(*(settle(memory, owner, card) for _ in range(4)))
    assert {answer.state for answer in answers} == {OrderState.CONFIRMED}
    assert len({answer.settled_at for answer in answers}) == 1
    assert await refusal(memory, owner, card, op.CANCEL_ORDER) == (409, "order-settled", "confirmed")
    claimed = await memory.claim(await memory.accept(owner, "再看看"))
    assert [(one.kind, one.text) for one in claimed.behaviour] == [("purchase", BACKPACK)]


async def test_purchases_stand_in_the_order_in_which_they_were_confirmed(memory: MemoryService, owner: Owner) -> None:
    """And not in that of the turns that proposed them."""
    cards = [await propose(memory, await running_turn(memory, owner), an_order(f"第 {n} 件")) for n in range(3)]
    for n in (1, 2, 0):
        await settle(memory, owner, cards[n])
    claimed = await memory.claim(await memory.accept(owner, "再看看"))
    assert [one.text for one in claimed.behaviour] == ["第 0 件", "第 2 件", "第 1 件"]


async def test_a_card_that_was_turned_down_cannot_be_confirmed(memory: MemoryService, owner: Owner) -> None:
    card = await proposed(memory, owner)
    cancelled = await settle(memory, owner, card, op.CANCEL_ORDER)
    assert cancelled.state is OrderState.CANCELLED
    assert await settle(memory, owner, card, op.CANCEL_ORDER) == cancelled
    assert await refusal(memory, owner, card, op.CONFIRM_ORDER) == (409, "order-settled", "cancelled")
    assert (await memory.claim(await memory.accept(owner, "再看看"))).behaviour == []


async def test_a_card_that_nobody_answered_expires(memory: MemoryService, owner: Owner) -> None:
    card = await proposed(memory, owner)
    memory.clock.advance(60 * memory.settings.order_expiry_minutes + 1)
    for how in (op.CONFIRM_ORDER, op.CANCEL_ORDER):
        assert await refusal(memory, owner, card, how) == (409, "order-settled", "expired")
    assert await listed(memory, owner, OrderState.PENDING) == []
    [expired] = await listed(memory, owner, OrderState.EXPIRED)
    assert expired.state is OrderState.EXPIRED


async def test_a_confirmation_whose_answer_was_lost_can_be_repeated_after_the_expiry(
    memory: MemoryService, owner: Owner
) -> None:
    card = await proposed(memory, owner)
    confirmed = await settle(memory, owner, card)
    memory.clock.advance(60 * memory.settings.order_expiry_minutes + 1)
    assert await settle(memory, owner, card) == confirmed


async def test_an_order_is_its_users_alone(memory: MemoryService, owner: Owner) -> None:
    card = await proposed(memory, owner)
    stranger = Owner(tenant_id="t1", user_id=f"u-{uuid4()}")
    for how in (op.GET_ORDER, op.CONFIRM_ORDER, op.CANCEL_ORDER):
        assert (await refusal(memory, stranger, card, how))[:2] == (404, "not-found")
    assert (await settle(memory, owner, card, op.GET_ORDER)).state is OrderState.PENDING


async def test_the_agent_cannot_settle(memory: MemoryService, owner: Owner) -> None:
    card = await proposed(memory, owner)
    request = OrderRequest(owner=owner, order_id=card.order_id)
    for how in (op.CONFIRM_ORDER, op.CANCEL_ORDER):
        with pytest.raises(ProblemError) as caught:
            await memory.call(Service.AGENT, how, request)
        assert caught.value.code is ProblemCode.FORBIDDEN
    assert await memory.call(Service.AGENT, op.GET_ORDER, request) == card


async def test_a_claim_tells_of_the_newest_cards(memory: MemoryService, owner: Owner) -> None:
    cancelled = await proposed(memory, owner)
    await settle(memory, owner, cancelled, op.CANCEL_ORDER)
    pending = await proposed(memory, owner)
    claimed = await memory.claim(await memory.accept(owner, "怎么样了"))
    assert [(card.order_id, card.state) for card in claimed.orders] == [
        (pending.order_id, OrderState.PENDING),
        (cancelled.order_id, OrderState.CANCELLED),
    ]


async def test_clearing_the_memory_takes_the_cards_that_were_not_confirmed(memory: MemoryService, owner: Owner) -> None:
    """Their destination may come from a fact. What the user confirmed is their own word, and their purchase."""
    confirmed, cancelled, _ = [await proposed(memory, owner) for _ in range(3)]
    await settle(memory, owner, confirmed)
    await settle(memory, owner, cancelled, op.CANCEL_ORDER)
    await memory.clear(owner)
    assert [card.order_id for card in await listed(memory, owner)] == [confirmed.order_id]
    claimed = await memory.claim(await memory.accept(owner, "再看看"))
    assert [one.kind for one in claimed.behaviour] == ["purchase"]
