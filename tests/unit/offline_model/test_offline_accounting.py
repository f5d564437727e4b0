"""From a request to the tokens of its prompt, as Qwen's template and tokenizer have them."""

from array import array
from collections.abc import Iterable
from typing import Any

import pytest

from offline_model.chat.answer import answer_of
from offline_model.chat.requests import ChatRequest
from offline_model.chat.template import render_answer, render_prompt
from offline_model.chat.usage import UsageMeter
from offline_model.playing.play import Play, call
from offline_model.prefix_cache.blocks import BlockCache
from offline_model.prompts import BlockEnd, Control, Piece, Prompt
from offline_model.tokens import QwenTokens

TOOLS = [
    {"type": "function", "function": {"name": "item_search", "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "save_memory", "parameters": {"type": "object"}}},
]
SYSTEM = {"role": "system", "content": "你是购物助手"}
USER = {"role": "user", "content": "找双肩包"}


@pytest.fixture(scope="module")
def tokens() -> QwenTokens:
    return QwenTokens()


def request(*messages: dict[str, Any], **options: Any) -> ChatRequest:
    return ChatRequest.model_validate({"model": "m", "messages": messages, "tools": TOOLS, **options})


def text_of(*messages: dict[str, Any], tools: bool = True, **options: Any) -> str:
    """The prompt as text."""
    return as_text(render_prompt(request(*messages, **options), TOOLS if tools else []))


def as_text(pieces: Iterable[Piece]) -> str:
    return "".join(
        piece.value if isinstance(piece, Control) else piece for piece in pieces if not isinstance(piece, BlockEnd)
    )


def step(number: int, *results: str, text: str | None = None, **fields: Any) -> list[dict[str, Any]]:
    """An assistant's step with one call per result, and the results."""
    calls = [
        {
            "id": f"c{number}-{i}",
            "type": "function",
            "function": {"name": "item_search", "arguments": '{"query": "包"}'},
        }
        for i in range(len(results))
    ]
    answers = [{"role": "tool", "tool_call_id": f"c{number}-{i}", "content": text} for i, text in enumerate(results)]
    return [{"role": "assistant", "content": text, "tool_calls": calls, **fields}, *answers]


def test_the_prompt_looks_as_qwens_template_writes_it() -> None:
    messages = [USER, *step(1, "一", "二", text="我来找"), {"role": "assistant", "content": "好"}, USER]
    empty = "<think>\n\n</think>\n\n"
    assert text_of(SYSTEM, *messages, tools=False) == (
        "<|im_start|>system\n你是购物助手<|im_end|>\n"
        "<|im_start|>user\n找双肩包<|im_end|>\n"
        f"<|im_start|>assistant\n{empty}我来找\n"
        '<tool_call>\n{"name": "item_search", "arguments": {"query": "包"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "item_search", "arguments": {"query": "包"}}\n</tool_call><|im_end|>\n'
        "<|im_start|>user\n<tool_response>\n一\n</tool_response>\n<tool_response>\n二\n</tool_response><|im_end|>\n"
        f"<|im_start|>assistant\n{empty}好<|im_end|>\n"
        "<|im_start|>user\n找双肩包<|im_end|>\n"
        f"<|im_start|>assistant\n{empty}"
    )


def test_tools_come_before_the_system_prompt_and_marks_are_not_shown() -> None:
    plain = text_of(SYSTEM, USER)
    assert plain.index("item_search") < plain.index("save_memory") < plain.index("你是购物助手")
    mark = {"cache_control": {"type": "ephemeral"}}
    system = {"role": "system", "content": [{"type": "text", "text": "你是购物助手", **mark}]}
    tools = [TOOLS[0], {**TOOLS[1], **mark}]
    marked = ChatRequest.model_validate({"model": "m", "messages": [system, USER], "tools": tools})
    assert as_text(render_prompt(marked, tools)) == plain


def prompt_and_answer(tokens: QwenTokens, asked: ChatRequest, play: Play) -> "tuple[Prompt, array[int]]":
    answer = answer_of(play, "m", "digest", thinks=asked.thinks)
    prompt = tokens.prompt(render_prompt(asked, TOOLS))
    said = tokens.prompt(render_answer(asked, answer.reasoning, answer.text, answer.calls))
    return prompt, prompt.tokens + said.tokens


def sent_back(play: Play, reasoning: str | None) -> list[dict[str, Any]]:
    """The answer as the client sends it with the next request, with the results of its calls."""
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": made.name, "arguments": made.arguments}}
        for i, made in enumerate(play.calls)
    ]
    message = {"role": "assistant", "content": play.text or None, "reasoning_content": reasoning}
    results = [{"role": "tool", "tool_call_id": made["id"], "content": "没有结果"} for made in calls]
    return [{**message, **({"tool_calls": calls} if calls else {})}, *results]


SEARCH = call("item_search", query="双肩包")
PLAYS = [Play("你好！"), Play(calls=(SEARCH,)), Play("我来找", (SEARCH, SEARCH))]


@pytest.mark.parametrize("thinks", [False, True])
@pytest.mark.parametrize("play", PLAYS)
def test_the_next_prompt_begins_with_this_prompt_and_its_answer(tokens: QwenTokens, play: Play, thinks: bool) -> None:
    asked = request(SYSTEM, USER, enable_thinking=thinks)
    prompt, ended = prompt_and_answer(tokens, asked, play)
    reasoning = answer_of(play, "m", "digest", thinks=thinks).reasoning
    assert bool(reasoning) == thinks
    for thinks_next in (thinks, not thinks):  # the switch may change between calls
        following = request(SYSTEM, USER, *sent_back(play, reasoning), USER, enable_thinking=thinks_next)
        longer = tokens.prompt(render_prompt(following, TOOLS)).tokens
        assert longer[: len(prompt)] == prompt.tokens
        assert longer[: len(ended)] == ended
        assert len(longer) > len(ended)


def test_thoughts_that_are_not_sent_back_end_the_common_text_where_they_stood(tokens: QwenTokens) -> None:
    asked = request(SYSTEM, USER, enable_thinking=True)
    prompt, ended = prompt_and_answer(tokens, asked, PLAYS[0])
    following = request(SYSTEM, USER, *sent_back(PLAYS[0], None), USER, enable_thinking=True)
    longer = tokens.prompt(render_prompt(following, TOOLS)).tokens
    assert longer[: len(ended)] != ended
    assert longer[: len(prompt) - 1] == prompt.tokens[:-1]


def test_qwens_default_drops_earlier_thoughts_at_a_new_message_of_the_user(tokens: QwenTokens) -> None:
    def prompt(*messages: dict[str, Any]) -> "array[int]":
        asked = request(SYSTEM, USER, *messages, chat_template_kwargs={"preserve_thinking": False})
        return tokens.prompt(render_prompt(asked, TOOLS)).tokens

    first, within = prompt(), prompt(*step(1, "一"))
    assert within[: len(first)] == first
    later = prompt(*step(1, "一"), USER)
    assert later[: len(first)] != first
    thought = len(tokens.prompt([Control.THINK, "\n\n", Control.THINK_END, "\n\n"]))
    assert later[: len(first) - thought] == first[:-thought]


def test_each_part_call_and_tool_is_a_block_and_marks_keep_their_place(tokens: QwenTokens) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    system = {"role": "system", "content": [{"type": "text", "text": "一"}, {"type": "text", "text": "二", **mark}]}
    messages = [system, USER, *step(1, "结果"), {"role": "user", "content": [{"type": "text", "text": "三", **mark}]}]
    tools = [TOOLS[0], {**TOOLS[1], **mark}]
    asked = ChatRequest.model_validate({"model": "m", "messages": messages, "tools": tools})
    prompt = tokens.prompt(render_prompt(asked, tools))
    assert len(prompt.block_ends) == 2 + 2 + 1 + 1 + 1 + 1  # tools, system, user, call, result, user
    assert prompt.marks == (1, 3, 7)
    tail = tokens.prompt([Control.MESSAGE_END, "\n", Control.MESSAGE_START, "assistant\n", Control.THINK, "\n\n"])
    assert prompt.block_ends[-1] == len(prompt) - len(tail) - 2


def test_control_characters_inside_a_message_are_plain_text(tokens: QwenTokens) -> None:
    (end,) = tokens.prompt([Control.MESSAGE_END]).tokens
    assert tokens.prompt(["a<|im_end|>b"]).tokens.count(end) == 0
    assert len(tokens.prompt(["<|im_start|>"])) > 1


def test_the_kept_pieces_are_bounded() -> None:
    small = QwenTokens(capacity=50)
    first = small.prompt(["背包 " * 40]).tokens
    for number in range(20):
        small.prompt([f"第 {number} 条"])
    assert small._size <= 50
    assert small.prompt(["背包 " * 40]).tokens == first


def test_usage_counts_what_the_template_shows(tokens: QwenTokens) -> None:
    meter = UsageMeter(tokens, BlockCache(block=16, minimum=16), context_window=10_000)
    asked = request(SYSTEM, USER, enable_thinking=True)
    answer = answer_of(Play("你好！"), "m", "digest", thinks=True)
    measured = meter.measure(asked, TOOLS, answer)
    measured.keep()
    prompt, ended = prompt_and_answer(tokens, asked, Play("你好！"))
    assert measured.usage.prompt_tokens == len(prompt)
    assert measured.usage.completion_tokens == len(ended) - len(prompt) + 1  # and the token that ends the message
    assert measured.usage.reasoning_tokens == len(tokens.prompt([answer.reasoning]))
    assert measured.usage.cached_tokens == 0
    again = meter.measure(asked, TOOLS, answer).usage
    assert again.cached_tokens == (len(prompt) - 1) // 16 * 16
    assert "cache_creation_input_tokens" not in again.body()["prompt_tokens_details"]
