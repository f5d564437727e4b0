"""Strategies: found by the user's words, at most two, in the turn they are for and nowhere else."""

import pytest
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import ScriptedAgent, messages, says

from agent.context.markdown import InvalidMarkdown
from agent.strategies.strategies import MAX_PER_TURN, Strategies, Strategy, builtin_strategies, read_strategy
from common.memory_api.sessions import Layer

FILE = '---\ntriggers: ["送礼", "Gift  Idea"]\n---\n- 先定收礼人\n'


def test_a_trigger_is_found_whatever_its_writing() -> None:
    strategies = Strategies([read_strategy(FILE, "gifts")])
    assert [found.name for found in strategies.matching("想送礼")] == ["gifts"]
    assert [found.name for found in strategies.matching("Any ｇｉｆｔ idea?")] == ["gifts"]
    assert strategies.matching("找双肩包") == []


def test_at_most_two_and_those_that_say_most() -> None:
    triggers = {"a": "包", "b": "双肩包", "c": "肩包", "d": "鞋"}
    many = [Strategy(name, (trigger,), "x") for name, trigger in triggers.items()]
    for order in (many, many[::-1]):
        assert [found.name for found in Strategies(order).matching("双肩包")] == ["b", "c"]
    assert MAX_PER_TURN == 2


@pytest.mark.parametrize(
    "text",
    [
        "no frontmatter",
        "---\na: 1\n---\nx",
        "---\ntriggers: []\n---\nx",
        "---\ntriggers: [1]\n---\nx",
        '---\ntriggers: [" "]\n---\nx',
        FILE[: FILE.index("- ")],
    ],
)
def test_a_file_that_is_no_strategy_is_refused(text: str) -> None:
    with pytest.raises(InvalidMarkdown, match=r"."):
        read_strategy(text, "x")


def test_the_built_in_ones_can_be_read() -> None:
    assert len(builtin_strategies().matching("送礼，便宜点，对比，过敏")) == MAX_PER_TURN


@pytest.mark.parametrize(("profile", "role"), [("generic", "user"), ("openai", "system")])
async def test_a_strategy_stands_before_the_words_it_is_for(profile: str, role: str) -> None:
    memory = MemoryInProcess("送给妈妈的生日礼物")
    agent = ScriptedAgent(memory, says("好"), profile=profile)
    await agent.run()
    block, words = messages(memory)[:2]
    assert block["role"] == role
    assert block["content"].startswith("<strategies>\n")
    assert block["content"].endswith("\n</strategies>")
    assert "送给妈妈" in words["content"]
    assert [entry.layer for entry in memory.log][:2] == [Layer.L2, Layer.L4]
    memory.new_turn("找一个双肩包")
    await ScriptedAgent(memory, says("好"), profile=profile).run()
    assert [entry.layer for entry in memory.log].count(Layer.L2) == 1
