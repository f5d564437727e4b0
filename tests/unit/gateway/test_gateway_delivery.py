"""What an entry means to a client: sent once, in order, and every loss noticed."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.events.delivery import Delivery, Verdict
from gateway.events.entry import EntryId, ProgressEntry

DELIVER, DROP, GAP = Verdict.DELIVER, Verdict.DROP, Verdict.GAP


def counted(position: int, attempt: int, n: int, event: str = "text.delta") -> ProgressEntry:
    return ProgressEntry(EntryId(position, 0), event, "{}", attempt, n)


def uncounted(position: int, event: str) -> ProgressEntry:
    return ProgressEntry(EntryId(position, 0), event, "{}", None, None)


def verdicts(delivery: Delivery, entries: list[ProgressEntry]) -> list[Verdict]:
    return [delivery.receive(entry) for entry in entries]


WHOLE_TURN = [
    counted(1, 1, 1, "turn.started"),
    counted(2, 1, 2),
    counted(3, 1, 3),
    counted(4, 1, 4, "turn.completed"),
    uncounted(5, "memory.updated"),
]


def test_a_whole_turn_is_delivered() -> None:
    delivery = Delivery()
    assert verdicts(delivery, WHOLE_TURN) == [DELIVER] * 5
    assert delivery.ended
    assert delivery.memory_told


def test_a_client_that_resumes_gets_the_rest() -> None:
    delivery = Delivery(EntryId(2, 0))
    assert verdicts(delivery, WHOLE_TURN) == [DROP, DROP, DELIVER, DELIVER, DELIVER]


def test_a_client_that_has_the_end_gets_what_was_remembered() -> None:
    delivery = Delivery(EntryId(4, 0))
    assert verdicts(delivery, WHOLE_TURN[:4]) == [DROP] * 4
    assert delivery.ended
    assert delivery.receive(WHOLE_TURN[4]) is DELIVER


def test_a_client_that_has_everything_gets_nothing() -> None:
    delivery = Delivery(EntryId(5, 0))
    assert verdicts(delivery, WHOLE_TURN) == [DROP] * 5
    assert delivery.memory_told


def test_a_missing_event_is_a_gap_once() -> None:
    entries = [counted(1, 1, 1), counted(2, 1, 3), counted(3, 1, 4)]
    assert verdicts(Delivery(), entries) == [DELIVER, GAP, DELIVER]


def test_a_missing_start_is_a_gap() -> None:
    assert Delivery().receive(counted(9, 1, 2)) is GAP
    assert Delivery().receive(counted(9, 2, 1)) is DELIVER


def test_a_lower_attempt_is_dropped() -> None:
    entries = [counted(1, 1, 1), counted(2, 2, 1), counted(3, 1, 2), counted(4, 2, 2)]
    assert verdicts(Delivery(), entries) == [DELIVER, DELIVER, DROP, DELIVER]


def test_a_repeated_entry_is_dropped() -> None:
    entries = [counted(1, 1, 1), counted(1, 1, 1), counted(2, 1, 1)]
    assert verdicts(Delivery(), entries) == [DELIVER, DROP, DROP]


def test_an_attempt_that_only_the_memory_service_told_silences_the_one_before() -> None:
    delivery = Delivery()
    delivery.receive(counted(1, 1, 1))
    delivery.snapshot_sent(attempt=2)
    assert delivery.receive(counted(2, 1, 2)) is DROP
    assert delivery.receive(counted(3, 2, 1)) is DELIVER


def test_where_the_clients_last_entry_is_gone_the_first_one_is_a_gap() -> None:
    assert verdicts(Delivery(anchored=False), [counted(20, 1, 1), counted(21, 1, 2)]) == [GAP, DELIVER]


def test_where_it_could_not_be_looked_for_what_the_client_has_is_not_sent_again() -> None:
    entries = [counted(1, 1, 1), counted(2, 1, 2), counted(3, 1, 3)]
    assert verdicts(Delivery(EntryId(2, 0), anchored=False), entries) == [DROP, DROP, GAP]


def test_a_snapshot_is_an_anchor() -> None:
    delivery = Delivery(EntryId(1, 0), anchored=False)
    delivery.snapshot_sent(attempt=1)
    assert verdicts(delivery, [counted(1, 1, 1), counted(2, 1, 2)]) == [DROP, DELIVER]


def test_nothing_follows_the_end_but_what_was_remembered() -> None:
    entries = [
        counted(1, 1, 1),
        uncounted(2, "turn.cancelled"),
        counted(3, 1, 2),
        counted(4, 1, 3, "turn.completed"),
        uncounted(5, "memory.updated"),
        uncounted(6, "memory.updated"),
    ]
    assert verdicts(Delivery(), entries) == [DELIVER, DELIVER, DROP, DROP, DELIVER, DROP]


def test_what_was_remembered_before_the_end_says_that_the_end_was_lost() -> None:
    delivery = Delivery()
    assert verdicts(delivery, [counted(1, 1, 1), uncounted(2, "memory.updated")]) == [DELIVER, GAP]
    assert not delivery.ended


def test_an_end_told_by_the_memory_service_is_not_told_again() -> None:
    delivery = Delivery()
    delivery.told_end()
    assert delivery.receive(counted(1, 1, 1, "turn.completed")) is DROP


@given(
    kept=st.lists(st.booleans(), min_size=1, max_size=30),
    cut=st.integers(min_value=0, max_value=30),
)
def test_over_any_loss_and_one_reconnect_nothing_comes_twice_and_every_loss_is_noticed(
    kept: list[bool], cut: int
) -> None:
    """`kept[i]` says whether event i + 1 of an attempt reached the stream; the client reconnects after `cut`."""
    numbers = [n for n, present in enumerate(kept, start=1) if present]
    stream = [counted(n, 1, n) for n in numbers]
    sent: list[ProgressEntry] = []
    gaps: set[int | None] = set()
    first = Delivery()
    for entry in stream[:cut]:
        _note(first.receive(entry), entry, sent, gaps)
    second = Delivery(sent[-1].id if sent else None)
    for entry in stream:
        _note(second.receive(entry), entry, sent, gaps)
    assert sent == stream
    assert gaps == {n for before, n in zip([0, *numbers], numbers, strict=False) if n != before + 1}


def _note(verdict: Verdict, entry: ProgressEntry, sent: list[ProgressEntry], gaps: set[int | None]) -> None:
    if verdict is not DROP:
        sent.append(entry)
    if verdict is GAP:
        gaps.add(entry.n)
