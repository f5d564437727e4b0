"""Entries of a progress stream: what is taken, and what no writer of ours makes."""

import pytest

from gateway.events.entry import EntryId, parse_entry, parse_entry_id


@pytest.mark.parametrize("text", ["0-0", "1735689600000-12", "18446744073709551615-18446744073709551615"])
def test_an_id_survives_the_round_trip(text: str) -> None:
    assert str(parse_entry_id(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "-",
        "1",
        "1-",
        "-1",
        "1-2-3",
        "+",
        "$",
        " 1-2",
        "1-2\n",
        "1-2 ",
        "٣-١",
        "999999999999999999999-0",
        "1-0x1",
    ],
)
def test_anything_else_is_no_id(text: str | None) -> None:
    assert parse_entry_id(text) is None


def test_ids_are_ordered_as_numbers() -> None:
    assert EntryId(9, 5) < EntryId(10, 0) < EntryId(10, 2) < EntryId(10, 10)


def test_a_counted_entry() -> None:
    data = '{"attempt":2,"n":7,"text":"好"}'.encode()
    entry = parse_entry(b"5-1", {b"event": b"text.delta", b"data": data})
    assert entry is not None
    assert (entry.id, entry.event, entry.attempt, entry.n) == (EntryId(5, 1), "text.delta", 2, 7)
    assert entry.data == data.decode()


def test_an_entry_outside_the_counting() -> None:
    entry = parse_entry(b"5-1", {b"event": b"memory.updated", b"data": b'{"outcomes":[]}'})
    assert entry is not None
    assert entry.attempt is None
    assert entry.tells_memory
    assert not entry.ends_answer


def test_an_event_of_a_newer_agent_is_passed_on() -> None:
    entry = parse_entry(b"5-1", {b"event": b"tool.progress", b"data": b'{"attempt":1,"n":1}'})
    assert entry is not None
    assert entry.event == "tool.progress"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {b"event": b"text.delta"},
        {b"data": b"{}"},
        {b"event": b"text.delta", b"data": b"not json"},
        {b"event": b"text.delta", b"data": b"[1]"},
        {b"event": b"text.delta", b"data": b"\xff"},
        {b"event": b"text.delta", b"data": b"[" * 20_000},
        {b"event": b"\xff", b"data": b"{}"},
        {b"event": b"text\ndelta", b"data": b"{}"},
        {b"event": b"turn.snapshot", b"data": b"{}"},
        {b"event": b"text.delta", b"data": b'{"attempt":1}'},
        {b"event": b"text.delta", b"data": b'{"n":1}'},
        {b"event": b"text.delta", b"data": b'{"attempt":"1","n":1}'},
        {b"event": b"text.delta", b"data": b'{"attempt":1,"n":true}'},
        {b"event": b"text.delta", b"data": b'{"attempt":1,"n":0}'},
    ],
)
def test_a_malformed_entry_is_none(fields: dict[bytes, bytes]) -> None:
    assert parse_entry(b"5-1", fields) is None
