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


def test_latin_triggers_begin_a_word() -> None:
    strategies = Strategies([Strategy("sizes", ("size", "尺码"), "x")])
    for words, found in (("Which sizes?", 1), ("I emphasize", 0), ("SIZE42", 1), ("问尺码的事", 1), ("欧码size", 1)):
        assert len(strategies.matching(words)) == found, words


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("我对坚果过敏，找零食", ["allergy-first"]),
        ("Snacks without nuts, I have allergies", ["allergy-first"]),
        ("配一套旅行装备，800 以内", ["travel-kit"]),
        ("太贵了，便宜一点", ["tight-budget"]),
        ("A cheaper one, please", ["tight-budget"]),
        ("头戴和入耳对比一下", ["comparing-two-routes"]),
        ("What is the difference between the two?", ["comparing-two-routes"]),
        ("送给妈妈的礼物", ["gift-under-uncertainty"]),
        ("寄德国到手价多少", ["landed-total"]),
        ("How much is it including tax?", ["landed-total"]),
        ("42 欧码的跑鞋", ["sizes-across-regions"]),
        ("六个月宝宝的奶瓶", ["for-a-baby"]),
        ("A gift for a newborn", ["for-a-baby", "gift-under-uncertainty"]),
        ("给宝宝的礼物，别太贵", ["for-a-baby", "gift-under-uncertainty"]),
        ("想找一个通勤双肩包，500 元以内", []),
        ("A commuter backpack under 60 euros", []),
        ("我的订单到哪了", []),
        ("谢谢", []),
    ],
)
def test_the_built_in_ones_are_found_by_what_users_say(words: str, found: list[str]) -> None:
    assert sorted(each.name for each in builtin_strategies().matching(words)) == found


def test_the_built_in_ones_can_be_told_apart_and_are_short() -> None:
    """At most two blocks of a turn must not weigh more than a skill; a trigger that two share says nothing."""
    strategies = list(builtin_strategies())
    triggers = [trigger for strategy in strategies for trigger in strategy.triggers]
    assert len(strategies) == 8
    assert len(triggers) == len(set(triggers))
    assert all(len(strategy.body) <= 300 for strategy in strategies)


async def test_the_block_says_that_it_is_for_this_turn() -> None:
    memory = MemoryInProcess("送礼，便宜点，对比，过敏")
    await ScriptedAgent(memory, says("好")).run()
    block = messages(memory)[0]["content"]
    assert "仅本轮有效" in block.splitlines()[1]
    assert block.count("\n## ") == MAX_PER_TURN
    assert Strategies(reversed(list(builtin_strategies()))).matching(memory.text) == builtin_strategies().matching(
        memory.text
    )


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
