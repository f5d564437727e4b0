"""The bytes of server-sent events."""

from gateway.events.format import ServerEvent, format_event, format_retry


def test_an_event_with_an_id() -> None:
    event = ServerEvent("text.delta", '{"text":"好"}', "5-1")
    assert format_event(event).decode() == 'id: 5-1\nevent: text.delta\ndata: {"text":"好"}\n\n'


def test_an_event_without_an_id_does_not_move_the_position() -> None:
    assert format_event(ServerEvent("turn.snapshot", "{}")) == b"event: turn.snapshot\ndata: {}\n\n"


def test_a_line_end_in_the_data_cannot_make_a_field() -> None:
    event = ServerEvent("x", "{\r\n}\revent: turn.completed\n\nid: 9-9")
    assert format_event(event).decode().split("\n") == [
        "event: x",
        "data: {",
        "data: }",
        "data: event: turn.completed",
        "data: ",
        "data: id: 9-9",
        "",
        "",
    ]


def test_retry() -> None:
    assert format_retry(1_500) == b"retry: 1500\n\n"
