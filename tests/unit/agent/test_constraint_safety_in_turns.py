"""A product that contradicts a remembered constraint: marked, named in a notice, and never listed without a word."""

from typing import Any

from tests.unit.agent.example_facts import a_fact
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import (
    PRODUCTS,
    DyingAt,
    ScriptedAgent,
    ShelfCatalogue,
    calls,
    messages,
    summary,
)

from agent.catalogue.products import Product
from common.crash_points import CrashPoint
from common.streams.progress import ProgressEvent
from model_client.answers import ModelAnswer

SEARCH = calls(("item_search", {"query": "零食"}))
NUTTY, NUTTY_TOO, SAFE = "snk-002", "snk-001", "snk-013"


def lists(reason: str, reply: str = "就这些", *more: str) -> ModelAnswer:
    items = [{"item_id": NUTTY, "reason": reason}, *({"item_id": item_id, "reason": "好"} for item_id in more)]
    return calls(("shopping_summary", {"reply": reply, "items": items}))


def an_agent(memory: MemoryInProcess, *steps: ModelAnswer, **more: Any) -> ScriptedAgent:
    memory.facts = [a_fact("nut_allergy", "对坚果过敏", "constraint")]
    return ScriptedAgent(memory, *steps, catalogue=ShelfCatalogue(NUTTY, SAFE), **more)


def contents(memory: MemoryInProcess) -> list[str]:
    return [str(message.get("content")) for message in messages(memory)]


def corrections(memory: MemoryInProcess) -> list[str]:
    return [content for content in contents(memory) if '<correction code="unnamed_conflict">' in content]


def cards(memory: MemoryInProcess) -> list[tuple[str, list[str]]]:
    assert memory.finished is not None
    return [(card.item_id, card.marks) for card in memory.finished.items]


async def test_marked_products_are_named_in_a_notice_behind_the_result() -> None:
    memory = MemoryInProcess()
    await an_agent(memory, SEARCH, summary("好", SAFE)).run()
    [result] = [place for place, content in enumerate(contents(memory)) if '"marks":["nut_allergy: 坚果"]' in content]
    notice = contents(memory)[result + 1]
    assert notice.startswith("<system_notice>")
    assert NUTTY in notice
    assert SAFE not in notice
    assert cards(memory) == [(SAFE, [])]
    assert corrections(memory) == []


def notices(memory: MemoryInProcess) -> list[str]:
    return [content for content in contents(memory) if content.startswith("<system_notice>") and "marks" in content]


async def test_a_notice_names_a_product_once_in_a_turn() -> None:
    memory = MemoryInProcess()
    dying = DyingAt(CrashPoint.AGENT_RESULTS_STORED, times=2)
    await an_agent(memory, SEARCH, calls(("item_search", {"query": "点心"})), dies=dying).run()
    assert len(notices(memory)) == 1
    detail = ("item_detail", {"item_id": NUTTY_TOO})
    await an_agent(memory, calls(detail, ("item_detail", {"item_id": NUTTY})), summary("好", SAFE)).run()
    first, second = notices(memory)
    assert NUTTY in first
    assert NUTTY_TOO in second
    assert NUTTY not in second
    memory.new_turn("再看看零食")
    await an_agent(memory, SEARCH, summary("好", SAFE)).run()
    assert len(notices(memory)) == 3


async def test_without_a_constraint_nothing_is_marked() -> None:
    memory = MemoryInProcess()
    agent = an_agent(memory, SEARCH, summary("好", NUTTY))
    memory.facts = [a_fact("nut_love", "对坚果过敏", "preference")]
    await agent.run()
    assert cards(memory) == [(NUTTY, [])]
    assert not any("<system_notice>" in content for content in contents(memory))


async def test_a_summary_that_hides_the_conflict_is_refused_once() -> None:
    memory = MemoryInProcess()
    agent = an_agent(memory, SEARCH, lists("很香", "推荐", SAFE), summary("好", SAFE))
    await agent.run()
    assert len(corrections(memory)) == 1
    assert "snk-002（nut_allergy: 坚果）" in corrections(memory)[0]
    assert cards(memory) == [(SAFE, [])]
    assert memory.finished is not None
    assert memory.finished.reply == "好"


async def test_what_was_told_of_a_refused_summary_is_taken_back() -> None:
    agent = an_agent(MemoryInProcess(), SEARCH, lists("很香", "推荐开心果"), summary("好", SAFE))
    await agent.run()
    told = [delta for delta in agent.progress.of(ProgressEvent.TEXT_DELTA) if delta["step"] == 2]
    assert told[-1]["text"] == ""
    assert told[-1]["offset"] == 0


async def test_a_model_that_insists_has_its_answer_with_the_mark_on_the_card() -> None:
    memory = MemoryInProcess()
    await an_agent(memory, SEARCH, lists("很香"), lists("就是香")).run()
    assert len(corrections(memory)) == 1
    assert cards(memory) == [(NUTTY, ["nut_allergy: 坚果"])]


async def test_the_last_answer_of_a_turn_is_never_refused() -> None:
    memory = MemoryInProcess()
    await an_agent(memory, SEARCH, lists("很香"), max_steps=2).run()
    assert memory.finished is not None
    assert memory.finished.failure is None
    assert cards(memory) == [(NUTTY, ["nut_allergy: 坚果"])]


async def test_a_conflict_that_is_named_is_listed_at_once() -> None:
    title = PRODUCTS[NUTTY].title_zh
    for answer in (lists("注意含坚果"), lists("香", f"1. {title}：有坚果，你过敏，仅供参考")):
        memory = MemoryInProcess()
        await an_agent(memory, SEARCH, answer).run()
        assert corrections(memory) == []
        assert cards(memory) == [(NUTTY, ["nut_allergy: 坚果"])]


async def test_neither_the_title_nor_a_line_on_something_else_names_a_conflict() -> None:
    title = PRODUCTS[NUTTY].title_zh
    assert "开心果" in title
    for answer in (lists(f"{title}很香"), lists("香", f"已按坚果过敏避开。\n1. {title}：很香")):
        memory = MemoryInProcess()
        await an_agent(memory, SEARCH, answer, summary("好", SAFE)).run()
        assert len(corrections(memory)) == 1


async def test_an_attempt_that_takes_over_does_not_refuse_again() -> None:
    memory = MemoryInProcess()
    dying = DyingAt(CrashPoint.AGENT_RESULTS_STORED, times=2)
    await an_agent(memory, SEARCH, lists("很香"), dies=dying).run()
    assert memory.finished is None
    assert len(corrections(memory)) == 1
    agent = an_agent(memory, lists("就是香"))
    memory.facts = []  # the marks come from the log, not from what memory says now
    await agent.run()
    assert len(corrections(memory)) == 1
    assert cards(memory) == [(NUTTY, ["nut_allergy: 坚果"])]


async def test_an_attempt_that_takes_over_marks_by_the_block_that_was_sent() -> None:
    memory = MemoryInProcess()
    await an_agent(memory, SEARCH, dies=DyingAt(CrashPoint.AGENT_STEP_STORED)).run()
    agent = an_agent(memory, summary("好", SAFE))
    memory.facts = []
    await agent.run()
    assert any('"marks":["nut_allergy: 坚果"]' in content for content in contents(memory))


async def test_a_product_that_the_picker_or_a_detail_showed_may_be_listed() -> None:
    memory = MemoryInProcess()
    await an_agent(memory, SEARCH, summary("好", SAFE)).run()
    for call in (("item_picker", {"item_ids": [SAFE]}), ("item_detail", {"item_id": SAFE})):
        memory.new_turn("再看看第一个")
        await an_agent(memory, calls(call), summary("好", SAFE)).run()
        assert cards(memory) == [(SAFE, [])]


def test_the_shelf_has_what_the_tests_say() -> None:
    nutty: Product = PRODUCTS[NUTTY]
    assert "pistachio" in nutty.allergens
    assert not PRODUCTS[SAFE].allergens or "pistachio" not in PRODUCTS[SAFE].allergens
