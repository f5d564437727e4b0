"""The client's reading of server-sent events (WHATWG HTML, section 9.2)."""

from collections.abc import AsyncIterator

from devstack.gateway_client import TurnEvent, parse_events


async def _lines(text: str) -> AsyncIterator[str]:
    for line in text.split("\n"):
        yield line


async def _parsed(text: str) -> list[TurnEvent]:
    return [event async for event in parse_events(_lines(text))]


async def test_an_event_has_an_id_a_kind_and_data() -> None:
    assert await _parsed('id: 5-0\nevent: text.delta\ndata: {"text":"你好: a"}\n\n') == [
        TurnEvent("5-0", "text.delta", {"text": "你好: a"})
    ]


async def test_comments_and_events_without_data_are_passed_over() -> None:
    assert await _parsed(": heartbeat\n\nretry: 1000\n\nevent: plan\n\n") == []


async def test_an_event_without_an_id_keeps_the_place_to_resume_from() -> None:
    events = await _parsed('id: 5-0\nevent: plan\ndata: {}\n\nevent: turn.snapshot\ndata: {"n":1}\n\n')
    assert [(event.event_id, event.kind) for event in events] == [("5-0", "plan"), ("5-0", "turn.snapshot")]


async def test_data_may_span_lines() -> None:
    assert (await _parsed('event: plan\ndata: {"a":\ndata: 1}\n\n'))[0].data == {"a": 1}


async def test_an_event_that_was_cut_off_is_not_an_event() -> None:
    assert await _parsed('event: plan\ndata: {"a":1}') == []
