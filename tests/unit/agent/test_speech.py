"""What is told of an answer while it streams: much of a reply, and nothing that an uncommitted save could belie."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.loop.speech import AnswerSpeech
from model_client.answers import ArgumentsDelta, TextDelta, ToolCall

SUMMARY, SAVE, SEARCH = "shopping_summary", "save_memory", "item_search"


def speech() -> AnswerSpeech:
    return AnswerSpeech(lambda name: name == SAVE)


def reply(text: str, position: int = 0) -> ArgumentsDelta:
    return ArgumentsDelta(position, SUMMARY, json.dumps({"reply": text, "items": []}, ensure_ascii=False))


def calls(*names: str) -> list[ToolCall]:
    return [ToolCall(f"call-{number}", name, "{}") for number, name in enumerate(names)]


def test_a_reply_is_told_as_it_comes() -> None:
    streaming = speech()
    assert streaming.hear(ArgumentsDelta(0, SUMMARY, '{"reply":"这两个')) == "这两个"
    assert streaming.hear(ArgumentsDelta(0, SUMMARY, "不错，Herschel")) == "不错，"
    assert streaming.hear(ArgumentsDelta(0, SUMMARY, ' 和笔记本包"')) == "Herschel 和笔记本包"
    assert streaming.rest(calls(SUMMARY)) == ""


@pytest.mark.parametrize(
    ("text", "at_once"),
    [
        ("好。记住了：不要坚果", "好。"),
        ("好，已經記下", "好，已經"),
        ("这条存好了。", "这条"),
        ("Sure. I have saved it. Look:", "Sure. I have "),
        ("I'll remember that.", "I'll "),
        ("Noted. Look:", ""),
        ("A notebook bag, in stock.", "A notebook bag, in stock."),
    ],
)
def test_from_a_word_that_could_claim_a_memory_on_it_waits(text: str, at_once: str) -> None:
    streaming = speech()
    assert streaming.hear(reply(text)) == at_once
    assert streaming.rest(calls(SUMMARY)) == text[len(at_once) :]


def test_plain_content_is_told_as_it_comes_up_to_such_a_word() -> None:
    streaming = speech()
    assert streaming.hear(TextDelta("我找")) == "我找"
    assert streaming.hear(ArgumentsDelta(0, SEARCH, "{}")) == ""
    assert streaming.hear(TextDelta("找，记")) == "找，"
    assert streaming.hear(TextDelta("住了")) == ""
    assert streaming.rest(calls(SEARCH)) == "记住了"


def test_content_before_a_reply_is_told_before_it() -> None:
    streaming = speech()
    assert streaming.hear(TextDelta("好。")) == "好。"
    assert streaming.hear(reply("看看")) == "看看"


@pytest.mark.parametrize("names", [(SAVE,), (SAVE, SUMMARY), (SUMMARY, SAVE), (SEARCH, SAVE)])
def test_nothing_stands_of_an_answer_with_an_effect(names: tuple[str, ...]) -> None:
    streaming = speech()
    assert streaming.hear(TextDelta("好的，记住了")) == "好的，", "taken back below"
    for position, name in enumerate(names):
        heard = streaming.hear(reply("看", position) if name == SUMMARY else ArgumentsDelta(position, name, "{}"))
        assert heard == ""
    assert streaming.hear(reply("看", len(names))) == ""
    assert streaming.rest(calls(*names)) is None


def test_a_save_without_streamed_arguments_counts_too() -> None:
    streaming = speech()
    streaming.hear(TextDelta("记住了"))
    assert streaming.rest(calls(SAVE)) is None


@given(st.text(st.sampled_from("好记存 \ud83d\ude00\x00note"), max_size=20), st.integers(0, 20))
def test_all_of_it_is_told_in_the_end_and_can_be_sent(text: str, cut: int) -> None:
    streaming = speech()
    arguments = f'{{"reply":{json.dumps(text, ensure_ascii=False)}}}'
    whole = AnswerSpeech(lambda _: False)
    expected = whole.hear(ArgumentsDelta(0, SUMMARY, arguments)) + (whole.rest(()) or "")
    pieces = [streaming.hear(ArgumentsDelta(0, SUMMARY, part)) for part in (arguments[:cut], arguments[cut:])]
    told = "".join(pieces) + (streaming.rest(calls(SUMMARY)) or "")
    assert told == expected
    told.encode()
