"""The part of a request that everybody shares, counted in Qwen's tokens through a chat template."""

import json

from agent.app import current_release
from agent.planner.planner import planner_instructions
from agent.skills.catalogue import builtin_skills
from agent.tools.registry import build_tools
from common.clock import SystemClock
from offline_model.chat.requests import ChatRequest
from offline_model.chat.template import render_prompt
from offline_model.tokens import QwenTokens

BLOCK, MINIMUM = 128, 1_024


def tokens_of(messages: list[dict[str, str]], tools: list[dict[str, object]] | None = None) -> int:
    request = ChatRequest.model_validate({"model": "m", "messages": messages, **({"tools": tools} if tools else {})})
    return len(QwenTokens().prompt(render_prompt(request, tools or [])))


def test_the_head_of_a_session_is_between_5500_and_6500_tokens() -> None:
    skills = builtin_skills()
    release = current_release(build_tools(None, skills, SystemClock()), skills)  # type: ignore[arg-type]
    assert 5_500 <= tokens_of([json.loads(release.system)], json.loads(release.tools)) <= 6_500


def test_the_planners_static_part_is_more_than_the_shortest_that_is_cached() -> None:
    """By a block, so that what is cached in whole blocks is still above the minimum."""
    assert tokens_of([{"role": "system", "content": planner_instructions()}]) >= MINIMUM + BLOCK


def test_the_catalogue_is_a_few_hundred_tokens() -> None:
    assert tokens_of([{"role": "user", "content": builtin_skills().catalogue()}]) < 500


def test_a_skills_body_is_a_part_of_what_it_would_cost_in_the_head() -> None:
    for skill in builtin_skills():
        assert tokens_of([{"role": "user", "content": skill.body}]) < 1_000, skill.name
