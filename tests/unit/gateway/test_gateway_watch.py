"""The place between the reader and one client."""

import asyncio

from gateway.events.entry import START, EntryId, ProgressEntry
from gateway.events.watch import Signal, Watch


def entry(position: int) -> ProgressEntry:
    return ProgressEntry(EntryId(position, 0), "text.delta", "{}", 1, position)


def offer(watch: Watch, position: int) -> None:
    watch.offer(EntryId(position, 0), entry(position))


async def test_entries_come_in_order_and_once() -> None:
    watch = Watch(EntryId(1, 0), capacity=10)
    for position in (1, 2, 3, 2, 3):
        offer(watch, position)
    assert [await watch.next(1), await watch.next(1)] == [entry(2), entry(3)]
    assert await watch.next(0.01) is Signal.SILENCE


async def test_an_unreadable_entry_moves_the_position() -> None:
    watch = Watch(START, capacity=10)
    watch.offer(EntryId(5, 0), None)
    assert watch.position == EntryId(5, 0)
    assert await watch.next(0) is Signal.SILENCE


async def test_waiting_ends_with_an_entry() -> None:
    watch = Watch(START, capacity=10)
    waiting = asyncio.create_task(watch.next(10))
    await asyncio.sleep(0)
    offer(watch, 1)
    assert await waiting == entry(1)


async def test_a_slow_client_is_told_to_go() -> None:
    watch = Watch(START, capacity=2)
    for position in (1, 2, 3):
        offer(watch, position)
    watch.signal(Signal.INTERRUPTED)
    assert await watch.next(1) is Signal.TOO_SLOW


async def test_an_interruption_is_told_once_and_loses_nothing() -> None:
    watch = Watch(START, capacity=2)
    offer(watch, 1)
    watch.signal(Signal.INTERRUPTED)
    assert await watch.next(1) is Signal.INTERRUPTED
    assert await watch.next(1) == entry(1)


async def test_closing_is_final() -> None:
    watch = Watch(START, capacity=2)
    watch.signal(Signal.CLOSED)
    assert await watch.next(1) is Signal.CLOSED
    assert await watch.next(1) is Signal.CLOSED
