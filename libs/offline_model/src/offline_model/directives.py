"""Directives: how a test asks, in the user's own words, for a certain behaviour of the model.

`[[offline:NAME]]`, `[[offline:NAME=ARGUMENT]]` and, for faults, `[[offline:NAME=ARGUMENT*N]]` (only for the first N
identical requests) act on the main model's calls; with `curator.`, `planner.` or `summary.` before the name they act
on that part instead (`summary` writes the continuation summary). They are read from the newest user message and from
nowhere else, so nothing a tool returns can give one.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from offline_model.errors import InvalidRequest


class Addressee(StrEnum):
    MAIN = "main"
    CURATOR = "curator"
    PLANNER = "planner"
    SUMMARY = "summary"


class DirectiveName(StrEnum):
    # Faults: the answer is what it would be, but it does not arrive as it should.
    HANG = "hang"
    SLOW = "slow"
    HTTP = "http"
    CUT = "cut"
    EMPTY_CHOICES = "empty_choices"
    MISSING_IDS = "missing_ids"
    MALFORMED_ARGUMENTS = "malformed_arguments"
    TRUNCATE = "truncate"
    NO_USAGE = "no_usage"
    # A fault of the planner and the summary: the answer does not keep to the form asked for. `*N`: only the first N
    # answers of a conversation, so that the one after a reproof is well-formed.
    MALFORMED = "malformed"
    # Plays: the answer itself is given.
    SAVE = "save"
    TEXT = "text"
    CALL = "call"
    LOOP = "loop"
    ECHO_CONTEXT = "echo_context"
    # Plays: the turn goes another way.
    BAD_TOOL = "bad_tool"
    SKIP_SKILL = "skip_skill"
    TWO_SEARCHES = "two_searches"
    # Plays: the model does what it must not do, until the system tells it. `=stubborn`: whatever it is told.
    REPEAT_SEARCH = "repeat_search"
    ALTERNATE = "alternate"
    SEARCH_AFTER_CATEGORY_CHANGE = "search_after_category_change"
    IGNORE_CONSTRAINT = "ignore_constraint"
    CONFIRM_ORDER = "confirm_order"
    OBEY_EXTERNAL = "obey_external"
    # The planner's: a plan that is JSON and yet no plan. `=1`: the first of the turn; `=always`: its repair too.
    BAD_PLAN = "bad_plan"
    # Neither: names the requests of a turn in the log, so that a benchmark can tell what the model's part took.
    MARK = "mark"

    @property
    def is_fault(self) -> bool:
        return self not in _NO_FAULTS


STUBBORN = "stubborn"

_MISCONDUCT = frozenset(
    {
        DirectiveName.SKIP_SKILL,
        DirectiveName.REPEAT_SEARCH,
        DirectiveName.ALTERNATE,
        DirectiveName.SEARCH_AFTER_CATEGORY_CHANGE,
        DirectiveName.IGNORE_CONSTRAINT,
        DirectiveName.CONFIRM_ORDER,
        DirectiveName.OBEY_EXTERNAL,
        DirectiveName.BAD_PLAN,
    }
)
_ARGUMENTS = dict.fromkeys((*_MISCONDUCT, DirectiveName.LOOP), ("", STUBBORN)) | {
    DirectiveName.CONFIRM_ORDER: ("", "call", STUBBORN),
    DirectiveName.BAD_PLAN: ("", "1", "always"),
}
_NO_FAULTS = _MISCONDUCT | frozenset(
    {
        DirectiveName.SAVE,
        DirectiveName.TEXT,
        DirectiveName.CALL,
        DirectiveName.LOOP,
        DirectiveName.ECHO_CONTEXT,
        DirectiveName.BAD_TOOL,
        DirectiveName.TWO_SEARCHES,
        DirectiveName.MARK,
    }
)


@dataclass(frozen=True)
class Directive:
    name: DirectiveName
    argument: str = ""
    first_requests: int | None = None
    """A fault acts on that many identical requests only; None: on all."""


_DIRECTIVE = re.compile(
    r"\[\[offline:(?:(?P<addressee>curator|planner|summary)\.)?(?P<name>[a-z_]+)(?P<rest>[=*].*?)?\]\]", re.DOTALL
)
_TIMES = re.compile(r"\*(\d+)$")


def read_directives(text: str, addressee: Addressee) -> tuple[Directive, ...]:
    """The directives in a text that are meant for the addressee, in order.

    Raises:
        InvalidRequest: a directive has an unknown name or argument; a test that mistypes one must not pass.
    """
    return tuple(
        _read(found["name"], found["rest"] or "")
        for found in _DIRECTIVE.finditer(text)
        if (found["addressee"] or _addressee_of(found["name"])) == addressee
    )


def _addressee_of(name: str) -> Addressee:
    return Addressee.PLANNER if name == DirectiveName.BAD_PLAN else Addressee.MAIN


def without_directives(text: str) -> str:
    """What the user said. A line break stays where a directive was, so that it joins no two sentences."""
    return _DIRECTIVE.sub("\n", text).strip()


def _read(name: str, rest: str) -> Directive:
    try:
        known = DirectiveName(name)
    except ValueError:
        raise InvalidRequest(f"unknown directive: {name}", "unknown_directive") from None
    times = _TIMES.search(rest) if known.is_fault else None
    argument = rest[: times.start()] if times else rest
    argument = argument.removeprefix("=")
    if argument not in _ARGUMENTS.get(known, (argument,)):
        raise InvalidRequest(f"{known} takes one of {', '.join(_ARGUMENTS[known])}", "invalid_directive")
    return Directive(known, argument, int(times[1]) if times else None)
