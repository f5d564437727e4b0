"""`judge`: whether the words of a turn carry a proposed fact, and which rule says no."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from memory.facts.evidence.statements import Fault, Statement
from memory.facts.evidence.user_words import UserWords
from memory.facts.wording.claim import Claim
from memory.facts.wording.persons import OTHER, SELF, may_be_same

_ENOUGH = 0.7
"""Share of a value's units that a statement must hold. The rest are words of the one who noted it."""


class Support(StrEnum):
    EXPLICIT = "explicit"
    """The user said it of themself, and that it lasts: it counts at once."""
    INFERRED = "inferred"
    """The words show it without saying that it lasts: a second turn must support it."""
    UNSUPPORTED = "unsupported"
    """The words do not hold it: it waits for the user's approval."""
    REFUSED = "refused"
    """The words hold it, and in a way that is no evidence."""


@dataclass(frozen=True)
class Verdict:
    support: Support
    rule: str | None = None
    """Id of the rule that refused it."""


Rule = tuple[str, Callable[[Statement, Claim], bool]]


def _has(fault: Fault) -> Rule:
    return fault.value, lambda statement, _: fault in statement.faults


def _about_another(statement: Statement, claim: Claim) -> bool:
    """Another person's as the user's own, or the user's own as another's."""
    if claim.subject == OTHER:
        return True
    if statement.about != SELF:
        return not may_be_same(claim.subject, statement.about)
    return claim.subject != SELF and not any(may_be_same(claim.subject, each) for each in statement.mentions)


RULES: tuple[Rule, ...] = (
    _has(Fault.PASTED),
    _has(Fault.QUOTED),
    _has(Fault.PRETENDED),
    _has(Fault.ASSENT),
    _has(Fault.FORGET),
    _has(Fault.ASKED),
    _has(Fault.SUPPOSED),
    _has(Fault.REPORTED),
    ("evidence-other-person", _about_another),
    ("evidence-negated", lambda statement, claim: statement.against != claim.against),
    _has(Fault.LOOK_UP),
    _has(Fault.THIS_TURN),
    ("evidence-passing", lambda statement, _: not (statement.lasting or statement.hints)),
)
"""In order: the first that a statement meets is the reason it is no evidence."""


def judge(key: str, value: str, words: UserWords) -> Verdict:
    """Whether a turn's words carry the fact. Of several statements that hold it, the best counts."""
    claim = Claim(key, value)
    holding = [statement for statement in words.statements_with(claim.units) if _carries(statement, claim)]
    carrying = [statement for statement in holding if not statement.joined] or holding
    if not carrying:
        return Verdict(Support.UNSUPPORTED)
    refusals = [(statement, _refusing_rule(statement, claim)) for statement in carrying]
    good = [statement for statement, rule in refusals if rule is None]
    if any(statement.lasting and not statement.hedged for statement in good):
        return Verdict(Support.EXPLICIT)
    if good:
        return Verdict(Support.INFERRED)
    return Verdict(Support.REFUSED, refusals[0][1])


def _refusing_rule(statement: Statement, claim: Claim) -> str | None:
    return next((rule_id for rule_id, refuses in RULES if refuses(statement, claim)), None)


def _carries(statement: Statement, claim: Claim) -> bool:
    if not claim.units or not claim.numbers <= statement.numbers:
        return False
    return sum(map(statement.holds, claim.units)) / len(claim.units) >= _ENOUGH
