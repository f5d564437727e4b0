"""The format of tests/scenarios/*.yaml. A key that is not known is an error: a misspelt check must not pass silently.

A file is a list of scenarios. Each is played by a user of its own, over the public API, against the running system:

    - name: nuts-stay-out-of-snacks        # letters, digits, hyphens; unique
      language: zh                         # zh or en
      shows: [constraint_in_exclude]       # the promises it is about (`Promise`)
      given:                               # optional; what the user has set up before
        facts: {nut_allergy: {value: 对坚果过敏, category: constraint}}
        settings: {currency: EUR, platforms: [jd]}
        favourites: [bag-001]
        skills: [{name: weekly-tea, description: …, body: …}]
      turns:
        - say: 推荐几样办公室零食             # may carry directives of the offline model: [[offline:…]]
          new_session: true                # optional; the first turn always has a new one
          before: [confirm_order]          # optional; what the user does first (`UserAct`)
          expect: …                        # `Expectation`

What a turn is expected to be (`expectation.py`), beside what every turn must be (a valid log that extends the one
before, see `log_faults.py`). `MATCHER` stands for checks of the fields of a JSON object (`Matcher`); a field may be a
path, `a.b`.

    ends: completed                        # the default; failed, cancelled
    calls: {exactly: […], in_order: […], made: […], not_made: […], at_most: {item_search: 4}}   # names of tools
    skill: search-discovery                # read in the first step, and alone in it; `none`: none was read
    in_one_step: {tool: item_search, at_least: 3}       # as many calls of it in one step
    arguments: [{tool: item_search, of: every, MATCHER}]      # of: every (the default), any, last; no call: a failure
    sum_of_arguments: {tool: item_search, field: price_max, at_most: 1000}
    results: [{tool: landed_price, of: last, MATCHER}]
    quotes: [{tool: landed_price, field: total}]         # the reply has this value of the last result
    found: PRODUCTS                        # all products that searches and the picker returned (`Products`)
    listed: PRODUCTS                       # the products the user was shown
    planned: true                          # whether there is a plan in the log
    plan: MATCHER                          # the plan of this turn's words
    session_constraints: MATCHER           # P_t, as it is stored after the turn; no P_t is an empty object
    memory_block: {shown: true, has: […], lacks: […]}
    facts: {nut_allergy: {value: [坚果], category: constraint, source: curator}, size: absent}   # after the curation
    orders: [{state: confirmed}]           # a matcher's `equals` for each order of the user, newest first
    log: {corrections: […], notices: [words], blocks: [words], lacks: [words]}   # what the system added to the turn
    main_calls_at_most: 6                  # calls of the main model
    reply_lacks: [words]                   # for false claims only: scenarios check what was done, not the wording
"""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, TypeAdapter, model_validator
from tests.support.scenarios.expectation import Expectation, Strict, Words

from common.memory_api.facts import MemoryCategory
from common.memory_api.user_data import UserSettings


class Promise(StrEnum):
    """What issue 6 wants shown. Every one has a scenario (`test_scenario_files.py`)."""

    CONSTRAINT_IN_EXCLUDE = "constraint_in_exclude"
    CATEGORY_CHANGE = "category_change"
    RETRACTION = "retraction"
    FALSE_RETRACTION = "false_retraction"
    POLARITY_FLIP = "polarity_flip"
    DESTINATION_LAYERS = "destination_layers"
    SKILL_FIRST = "skill_first"
    NO_SKILL_FOR_NAMED_PRODUCT = "no_skill_for_named_product"
    ONLY_THE_USER_CONFIRMS = "only_the_user_confirms"
    EXTERNAL_TEXT = "external_text"
    PLANNER_FAILURE = "planner_failure"
    BUDGET_SPLIT = "budget_split"
    LANDED_PRICE = "landed_price"
    PICKING = "picking"
    KNOWLEDGE = "knowledge"
    STRATEGY = "strategy"
    PERSONAL_SKILL = "personal_skill"
    ASKS_WHAT_IS_MISSING = "asks_what_is_missing"
    MEMORY = "memory"
    MISBEHAVIOUR = "misbehaviour"


class UserAct(StrEnum):
    """What a user does beside talking."""

    CONFIRM_ORDER = "confirm_order"
    CANCEL_ORDER = "cancel_order"


class Turn(Strict):
    say: str
    expect: Expectation
    new_session: bool = False
    before: tuple[UserAct, ...] = ()


class GivenFact(Strict):
    value: str
    category: MemoryCategory = MemoryCategory.CONSTRAINT


class GivenSkill(Strict):
    name: str
    description: str
    body: str


class Given(Strict):
    facts: dict[str, GivenFact] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)
    favourites: Words = ()
    skills: tuple[GivenSkill, ...] = ()

    @model_validator(mode="after")
    def _settings_exist(self) -> "Given":
        if unknown := set(self.settings) - set(UserSettings.model_fields):
            raise ValueError(f"no such setting: {', '.join(sorted(unknown))}")
        return self


class Scenario(Strict):
    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    language: Literal["zh", "en"]
    shows: Annotated[tuple[Promise, ...], Field(min_length=1)]
    given: Given = Given()
    turns: Annotated[tuple[Turn, ...], Field(min_length=1)]


_file: TypeAdapter[list[Scenario]] = TypeAdapter(list[Scenario])


def read_scenarios(text: str) -> list[Scenario]:
    """Raises ValueError for what is not in the format, and for YAML that is none."""
    try:
        return _file.validate_python(yaml.load(text, _OnceOnly))
    except yaml.YAMLError as error:
        raise ValueError(f"this is no YAML: {error}") from error


def scenarios_in(directory: Path) -> Iterator[tuple[str, Scenario]]:
    """All scenarios, each with a name that tells its file too. Raises ValueError, also for a name there twice."""
    seen: set[str] = set()
    for path in sorted(directory.glob("*.yaml")):
        try:
            scenarios = read_scenarios(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path.name}: {error}") from error
        for scenario in scenarios:
            if scenario.name in seen:
                raise ValueError(f"two scenarios have the name {scenario.name}")
            seen.add(scenario.name)
            yield f"{path.stem}-{scenario.name}", scenario


class _OnceOnly(yaml.SafeLoader):
    """YAML lets a later key replace an earlier one: a check that stands twice would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if twice := {str(key) for key in keys if keys.count(key) > 1}:
            raise yaml.YAMLError(f"twice in one place: {', '.join(sorted(twice))}{node.start_mark}")
        return super().construct_mapping(node, deep)
