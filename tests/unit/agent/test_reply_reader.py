"""The reply is read out of half-streamed JSON: whatever the cuts, what comes out is the reply."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.loop.reply_reader import ReplyReader


def read(arguments: str, cuts: list[int]) -> list[str]:
    reader = ReplyReader()
    places = sorted({0, len(arguments), *(cut % (len(arguments) + 1) for cut in cuts)})
    return [reader.feed(arguments[start:end]) for start, end in pairwise(places)]


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    st.lists(st.integers(0, 500), max_size=20),
    st.booleans(),
)
def test_any_cut_gives_the_whole_reply(reply: str, cuts: list[int], escaped: bool) -> None:
    arguments = json.dumps({"reply": reply, "items": [{"item_id": 'a"b'}]}, ensure_ascii=escaped)
    pieces = read(arguments, cuts)
    assert "".join(pieces) == reply
    assert all(not 0xD800 <= ord(character) <= 0xDFFF for piece in pieces for character in piece)


def test_text_comes_as_soon_as_it_is_whole() -> None:
    reader = ReplyReader()
    assert reader.feed('{ "reply" : "你') == "你"
    assert reader.feed("好\\") == "好"
    assert reader.feed('n"') == "\n"
    assert reader.feed(', "items": []}') == ""


@pytest.mark.parametrize("arguments", ['{"items":[],"reply":"x"}', "not json", '{"reply":null}', ""])
def test_other_shapes_read_as_nothing(arguments: str) -> None:
    assert ReplyReader().feed(arguments) == ""
