"""The scenario files: enough of them, about everything, and a mistake in one is an error."""

from pathlib import Path

import pytest
from tests.support.scenarios.scenario import Promise, read_scenarios, scenarios_in

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_there_are_enough_turns_in_both_languages() -> None:
    scenarios = [scenario for _, scenario in scenarios_in(SCENARIOS)]
    turns = {
        language: sum(len(scenario.turns) for scenario in scenarios if scenario.language == language)
        for language in ("zh", "en")
    }
    assert sum(turns.values()) >= 50
    assert min(turns.values()) >= 20


def test_every_promise_has_a_scenario() -> None:
    shown = {promise for _, scenario in scenarios_in(SCENARIOS) for promise in scenario.shows}
    assert shown == set(Promise)


GOOD = """
- name: one
  language: zh
  shows: [picking]
  turns: [{say: 你好, expect: {listed: {without: [nuts]}}}]
"""


def test_a_good_file_is_read() -> None:
    assert read_scenarios(GOOD)[0].turns[0].say == "你好"


@pytest.mark.parametrize(
    ("good", "mistake"),
    [
        ("expect: {listed", "expect: {lsited"),
        ("without: [nuts]", "wihtout: [nuts]"),
        ("without: [nuts]", "without: [nutz]"),
        ("without: [nuts]", "domains: [snack]"),
        ("listed: {without: [nuts]}", "skill: serach-discovery"),
        ("listed: {without: [nuts]}", "calls: {made: [item_serach]}"),
        ("listed: {without: [nuts]}", "arguments: [{tool: item_search}]"),
        ("listed: {without: [nuts]}", "plan: {}"),
        ("listed: {without: [nuts]}", "orders: [{}]"),
        ("listed: {without: [nuts]}", "facts: {size: gone}"),
        ("listed: {without: [nuts]}", "log: {corrections: [unknown_tol]}"),
        ("listed: {without: [nuts]}", "skill: none, skill: order-care"),
        ("shows: [picking]", "shows: [pickin]"),
        ("shows: [picking]", "shows: []"),
        ("language: zh", "language: fr"),
        ("language: zh", "language: zh\n  given: {settings: {curency: EUR}}"),
        ("turns: [", "turns: }["),
    ],
)
def test_a_mistake_is_an_error(good: str, mistake: str) -> None:
    assert good in GOOD
    with pytest.raises(ValueError, match=r"."):
        read_scenarios(GOOD.replace(good, mistake))


def test_a_name_may_be_there_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(ValueError, match="two scenarios"):
        list(scenarios_in(tmp_path))
