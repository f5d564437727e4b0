"""Events come out the same, wherever the network cuts the stream."""

import pytest

from model_client.event_stream import EventDecoder

STREAM = (
    'data: {"a":1}\n\n'
    ": ping\n\n"
    "event: note\nid: 7\n\n"
    "event: more\ndata:二\ndata: zwei\n\n"
    "data: [DONE]\n\n"
    "data: late\n\n"
)
TOLD = ['{"a":1}', "二\nzwei"]


def decoded(stream: bytes, size: int) -> tuple[list[str], bool]:
    decoder = EventDecoder()
    told: list[str] = []
    for start in range(0, len(stream), size):
        told += decoder.feed(stream[start : start + size])
        if decoder.ended:
            break
    return told, decoder.ended


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_events_are_the_same_under_every_cut_and_line_end(line_end: str) -> None:
    stream = STREAM.replace("\n", line_end).encode()
    for size in range(1, len(stream) + 1):
        assert decoded(stream, size) == (TOLD, True), size


def test_an_event_that_was_not_ended_is_not_told() -> None:
    assert decoded(b"data: {}\n\ndata: {", 100) == (["{}"], False)
    assert decoded(b"data: {}\n", 100) == ([], False)


def test_what_is_no_text_is_an_error() -> None:
    with pytest.raises(UnicodeDecodeError):
        EventDecoder().feed(b"data: \xff\n\n")
