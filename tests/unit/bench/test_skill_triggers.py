"""`make eval-skills`: what it asks, what it counts, and that it looks at the agent's own first request."""

import re
from collections import Counter

import pytest
from bench.skill_triggers.figures import Judged, figures, table
from bench.skill_triggers.first_step import FirstStep, Models, first_step
from bench.skill_triggers.requests import Row, read_rows
from tests.unit.agent.scripted_agent import ScriptedModel, calls, plans, says

from agent.app import current_release
from agent.skills.catalogue import builtin_skills
from agent.tools.registry import build_tools
from common.clock import SystemClock
from model_client.answers import ModelAnswer
from model_client.errors import ModelUnavailable
from model_client.profiles import PROFILES

READ = ("Skill", {"name": "search-discovery"})
SEARCH = ("item_search", {"query": "双肩包"})


def models(
    *steps: ModelAnswer | Exception, plan: ModelAnswer | Exception | None = None
) -> tuple[Models, ScriptedModel]:
    scripted = ScriptedModel(*steps, plan_steps=[plan] if plan else ())
    return Models(scripted, "the-main", "the-fast", PROFILES["generic"]), scripted


def test_ten_requests_and_ten_near_misses_for_each_skill_in_two_languages() -> None:
    rows = read_rows(builtin_skills().names)
    assert Counter((row.skill, row.should) for row in rows) == {
        (name, should): 10 for name in builtin_skills().names for should in (True, False)
    }
    for name in builtin_skills().names:
        for should in (True, False):
            words = [row.words for row in rows if (row.skill, row.should) == (name, should)]
            chinese = sum(bool(re.search(r"[\u4e00-\u9fff]", text)) for text in words)
            assert 4 <= chinese <= 7, (name, should)
    wanted = [row.words for row in rows if row.should]
    assert len(wanted) == len(set(wanted)), "one request cannot be due two skills first"


def test_a_skill_without_rows_is_told() -> None:
    with pytest.raises(ValueError, match="one-more"):
        read_rows([*builtin_skills().names, "one-more"])


async def test_the_first_answer_to_the_agents_own_request_is_what_counts() -> None:
    chosen, scripted = models(calls(READ), says("never asked for"))
    step = await first_step(chosen, "想找一个双肩包")
    assert (step.skills, step.tools, step.intent) == (("search-discovery",), ("Skill",), "product_search")
    (request,) = scripted.requests
    release = current_release(build_tools(None, builtin_skills(), SystemClock()), builtin_skills())  # type: ignore[arg-type]
    assert (request.messages[0], request.tools, request.model) == (release.system, release.tools, "the-main")
    assert [plan.model for plan in scripted.plan_requests] == ["the-fast"]
    assert sum("想找一个双肩包" in message for message in request.messages) == 1


async def test_failures_are_told_apart() -> None:
    assert (await first_step(models(ModelUnavailable("down"))[0], "x")).failure == "ModelUnavailable"
    without_plan = await first_step(models(says("你好"), plan=ModelUnavailable("down"))[0], "x")
    assert without_plan == FirstStep()


def test_what_is_right() -> None:
    should, near = (Row("search-discovery", should, "x") for should in (True, False))
    alone = FirstStep(("search-discovery",), ("Skill",), "product_search")
    together = FirstStep(("search-discovery",), ("Skill", "item_search"), "product_search")
    other = FirstStep(("bundle-planning",), ("Skill",), "bundle")
    failed = FirstStep(failure="ModelUnavailable")
    judged = [Judged(row, step) for row in (should, near) for step in (alone, together, other, FirstStep(), failed)]
    assert [each.right for each in judged] == [True, False, False, False, False, False, False, True, True, False]
    assert figures(judged)["skills"] == {
        "search-discovery": {"should": {"right": 1, "rows": 5}, "should_not": {"right": 2, "rows": 5}}
    }
    assert (figures(judged)["failed"], figures(judged)["without_plan"]) == (2, 2)
    printed = table(judged)
    assert "1/5" in printed
    assert "Skill(search-discovery) + item_search ×1" in printed


@pytest.mark.parametrize("plan", [plans(), plans(intent="bundle")])
async def test_the_planner_is_the_real_one(plan: ModelAnswer) -> None:
    step = await first_step(models(calls(SEARCH), plan=plan)[0], "配一套")
    assert step.intent == ("bundle" if "bundle" in plan.text else "product_search")
