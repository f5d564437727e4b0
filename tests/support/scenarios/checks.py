"""Whether a turn was what its scenario expects: pure functions from what was seen to what is wrong with it.

Each kind of check is a function of the expectation and the observed turn, and gives a sentence for each failure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.support.scenarios.expectation import Expectation, ExpectedFact, Matcher, OfCalls
from tests.support.scenarios.matching import MISSING, faults_of_fields, number_in, value_at
from tests.support.scenarios.observed import ObservedCall, ObservedTurn
from tests.support.scenarios.products import faults_of_products

_Check = Callable[[Expectation, ObservedTurn], Iterator[str]]


def failures(expected: Expectation, turn: ObservedTurn) -> list[str]:
    """Everything that is not as expected."""
    return [failure for check in _CHECKS for failure in check(expected, turn)]


def _ending(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    if turn.status != expected.ends:
        yield f"the turn {turn.status}, not {expected.ends}"
    if not turn.reply.strip():
        yield "the turn has no answer"
    for words in expected.reply_lacks:
        if words.casefold() in turn.reply.casefold():
            yield f"the reply has 「{words}」"


def _log(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    yield from turn.log_faults
    if expected.log is None:
        return
    for code in expected.log.corrections:
        if code not in turn.corrections:
            yield f"no correction {code}, only {sorted(turn.corrections)}"
    yield from _has_words("notice", expected.log.notices, turn.notices)
    yield from _has_words("block for this turn", expected.log.blocks, turn.blocks)
    said = [*turn.notices, *turn.corrections.values(), *turn.blocks]
    for words in expected.log.lacks:
        if any(words in text for text in said):
            yield f"the system said 「{words}」"


def _has_words(kind: str, wanted: Sequence[str], texts: Sequence[str]) -> Iterator[str]:
    for words in wanted:
        if not any(words in text for text in texts):
            yield f"no {kind} has 「{words}」, of {len(texts)}"


def _calls(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    wanted = expected.calls
    if wanted is None:
        return
    made = [call.tool for call in turn.calls]
    if wanted.exactly is not None and made != list(wanted.exactly):
        yield f"the calls were {made}, not exactly {list(wanted.exactly)}"
    rest = iter(made)
    if not all(tool in rest for tool in wanted.in_order):
        yield f"the calls were {made}, without {list(wanted.in_order)} in this order"
    yield from (f"no call of {tool} among {made}" for tool in wanted.made if tool not in made)
    yield from (f"a call of {tool} among {made}" for tool in wanted.not_made if tool in made)
    for tool, most in wanted.at_most.items():
        if made.count(tool) > most:
            yield f"{made.count(tool)} calls of {tool}, more than {most}"


def _skill(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    if expected.skill is None:
        return
    read = [str(call.arguments.get("name")) for call in turn.calls_of("Skill")]
    if expected.skill == "none":
        if read:
            yield f"skills were read: {read}"
        return
    first = [(call.tool, call.arguments.get("name")) for call in turn.steps[0]] if turn.steps else []
    if first != [("Skill", expected.skill)]:
        yield f"the first step was {first}, not the skill {expected.skill} alone"


def _in_one_step(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    wanted = expected.in_one_step
    if wanted is None:
        return
    counts = [sum(call.tool == wanted.tool for call in step) for step in turn.steps]
    if max(counts, default=0) < wanted.at_least:
        yield f"calls of {wanted.tool} by step were {counts}, never {wanted.at_least} in one"


def _arguments(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    for wanted in expected.arguments:
        yield from _of_calls(wanted, turn, "arguments", lambda call: call.arguments)


def _results(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    for wanted in expected.results:
        yield from _of_calls(wanted, turn, "result", lambda call: call.result)


def _of_calls(
    wanted: OfCalls, turn: ObservedTurn, part: str, fields_of: Callable[[ObservedCall], Mapping[str, Any]]
) -> Iterator[str]:
    calls = turn.calls_of(wanted.tool)
    if not calls:
        yield f"no call of {wanted.tool}, so its {part} cannot be as expected"
        return
    wrong = [faults_of_fields(wanted, fields_of(call)) for call in calls]
    if wanted.of == "any":
        if all(wrong):
            yield f"{wanted.tool}, {part}: of no call as expected: {wrong}"
        return
    for faults in wrong if wanted.of == "every" else wrong[-1:]:
        yield from (f"{wanted.tool}, {part}: {fault}" for fault in faults)


def _sums(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    wanted = expected.sum_of_arguments
    if wanted is None:
        return
    values = [number_in(call.arguments.get(wanted.field)) for call in turn.calls_of(wanted.tool)]
    known = [value for value in values if value is not None]
    if not values or len(known) < len(values):
        yield f"{wanted.tool}: not every call has a {wanted.field}: {values}"
    elif sum(known) > wanted.at_most:
        yield f"{wanted.tool}: the sum of {wanted.field} is {sum(known)}, over {wanted.at_most}"


def _quotes(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    for wanted in expected.quotes:
        calls = turn.calls_of(wanted.tool)
        value = value_at(calls[-1].result, wanted.field) if calls else MISSING
        if value is MISSING or value is None:
            yield f"{wanted.tool} gave no {wanted.field}"
        elif str(value) not in turn.reply:
            yield f"the reply does not have {value}, which {wanted.tool} gave as {wanted.field}"


def _products(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    if expected.listed is not None:
        yield from (f"listed: {fault}" for fault in faults_of_products(expected.listed, turn.items))
    if expected.found is not None:
        searches = [call for call in turn.calls if call.tool in ("item_search", "item_picker")]
        found = [item for call in searches for item in call.result.get("items") or ()]
        yield from (f"found: {fault}" for fault in faults_of_products(expected.found, found))


def _plan(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    if expected.planned is not None and expected.planned != (turn.plan is not None):
        yield "there is no plan" if turn.plan is None else "there is a plan"
    if expected.plan is not None:
        if turn.plan is None:
            yield "there is no plan, so it cannot be as expected"
        else:
            yield from (f"plan: {fault}" for fault in faults_of_fields(expected.plan, turn.plan))


def _session_constraints(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    if expected.session_constraints is not None:
        faults = faults_of_fields(expected.session_constraints, turn.session_constraints)
        yield from (f"session constraints: {fault}" for fault in faults)


def _memory(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    wanted = expected.memory_block
    if wanted is not None:
        if wanted.shown != (turn.memory_block is not None):
            yield "no memory block" if turn.memory_block is None else "there is a memory block"
        block = turn.memory_block or ""
        yield from (f"the memory block lacks 「{words}」" for words in wanted.has if words not in block)
        yield from (f"the memory block has 「{words}」" for words in wanted.lacks if words in block)
    for key, fact in expected.facts.items():
        yield from (f"fact {key}: {fault}" for fault in _faults_of_fact(fact, turn.facts.get(key)))


def _faults_of_fact(wanted: "ExpectedFact | str", fact: Mapping[str, Any] | None) -> Iterator[str]:
    if not isinstance(wanted, ExpectedFact):
        if fact is not None:
            yield "it is there"
        return
    if fact is None:
        yield "it is not there"
        return
    value = str(fact["value"])
    yield from (f"its value lacks 「{words}」" for words in wanted.value if words not in value)
    yield from (f"its value has 「{words}」" for words in wanted.lacks if words in value)
    for name, one in (("category", wanted.category), ("source", wanted.source)):
        if one is not None and fact[name] != one:
            yield f"its {name} is {fact[name]}, not {one}"


def _orders(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    wanted = expected.orders
    if wanted is None:
        return
    if len(turn.orders) != len(wanted):
        yield f"{len(turn.orders)} orders, not {len(wanted)}"
    for number, (fields, order) in enumerate(zip(wanted, turn.orders, strict=False)):
        yield from (f"order {number}: {fault}" for fault in faults_of_fields(Matcher(equals=fields), order))


def _limits(expected: Expectation, turn: ObservedTurn) -> Iterator[str]:
    most = expected.main_calls_at_most
    if most is not None and turn.main_calls > most:
        yield f"{turn.main_calls} calls of the main model, more than {most}"


_CHECKS: tuple[_Check, ...] = (
    _ending,
    _log,
    _calls,
    _skill,
    _in_one_step,
    _arguments,
    _results,
    _sums,
    _quotes,
    _products,
    _plan,
    _session_constraints,
    _memory,
    _orders,
    _limits,
)
