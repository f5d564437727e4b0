"""What the users say, and how the model misbehaves meanwhile: every fault it knows, limited so that a turn can end."""

import re
from random import Random

from offline_model.directives import DirectiveName

_WISHES = ("通勤双肩包", "轻便雨伞", "办公室零食", "降噪耳机", "保温水杯", "露营台灯", "羊毛围巾", "旅行收纳袋")
_LETTERS = "abcdefghij"

MISBEHAVIOURS = (
    "http=500*1",
    "http=503*2",
    "http=429*1",
    "cut*1",
    "hang*1",
    "slow=0.005",
    "empty_choices",
    "missing_ids",
    "malformed_arguments",
    "truncate*1",
    "no_usage",
    "bad_tool",
    "skip_skill",
    "two_searches",
    "loop",
    "repeat_search",
    "alternate",
    "search_after_category_change",
    "ignore_constraint",
    "confirm_order",
    "obey_external",
    "bad_plan=1",
    "bad_plan=always",
    "planner.http=500*1",
    "planner.cut*1",
    "planner.malformed*1",
    "planner.truncate*1",
    "planner.empty_choices",
    "curator.http=500*1",
    "curator.cut*1",
    "curator.hang*1",
    "curator.truncate*1",
    "curator.missing_ids",
)
_ADDRESSEE = re.compile(r"^(planner|curator)\.")
_RARE = ("loop", "hang*1", "curator.hang*1")
"""They take long, and so they are asked for less often."""

NOTE_KEY = "note_"
"""How keys of facts begin that are said in one turn only: they may be written once."""


def faults_that_are_missing() -> set[DirectiveName]:
    """Faults of the model that no turn of a storm would ask for."""
    asked = {DirectiveName(re.split("[=*]", _ADDRESSEE.sub("", each))[0]) for each in MISBEHAVIOURS}
    return {each for each in DirectiveName if each.is_fault} - asked


def a_turn(random: Random, number: int) -> str:
    """A wish, or a few words; often something to remember, by the tool or by the curator; and misbehaviour."""
    said = (
        f"想找一个{random.choice(_WISHES)}，500 元以内"
        if random.random() < 0.4
        else "谢谢，先这样[[offline:text=好的]]"
    )
    return said + _something_to_remember(random, number) + _misbehaviour(random)


def quoting(random: Random) -> str:
    """The answer quotes what is remembered."""
    return "你还记得什么[[offline:echo_context]]" + ("[[offline:slow=0.01]]" if random.random() < 0.5 else "")


def _something_to_remember(random: Random, number: int) -> str:
    if random.random() < 0.3:
        return ""
    name = "".join(_LETTERS[int(digit)] for digit in str(number))
    fact = f"{NOTE_KEY}{name}|一直喜欢{name}牌的东西|preference"
    writer = random.choice(["save", "curator.save"])
    return f"。记住，我一直喜欢{name}牌的东西[[offline:{writer}={fact}]]"


def _misbehaviour(random: Random) -> str:
    if random.random() < 0.5:
        return ""
    weights = [0.2 if each in _RARE else 1.0 for each in MISBEHAVIOURS]
    chosen = random.choices(MISBEHAVIOURS, weights, k=random.choice([1, 1, 2]))
    return "".join(f"[[offline:{each}]]" for each in sorted(set(chosen)))
