"""`merge_pt_lite`: what becomes of P_t when a turn has spoken (seed 002, "how it runs" 3)."""

from collections.abc import Collection, Iterable

from agent.catalogue.exclusion import first_mention
from agent.session_constraints.constraints import WORDS_MAX, SessionConstraints, TurnWishes
from common.text import normalise

_BUDGET_WORDS = frozenset({"预算", "budget"})
"""What a user takes back who no longer wants a budget."""


def merge_pt_lite(before: SessionConstraints, wishes: TurnWishes, user_words: str) -> SessionConstraints:
    """Three rules, none of which asks a model:

    1. another domain clears the three word lists and keeps the budget and the destination;
    2. a retraction counts only where the user's own words of this turn contain it;
    3. the newest polarity of a word wins; said in two ways at once, the stricter one. What is ruled out becomes
       anything less by the user's own words alone: else a planner could take it back by another name.
    """
    kept = _of_domain(before, wishes.domain)
    exclude = _distinct(wishes.exclude)
    ruled_out = exclude + _without(kept.exclude, _said(kept.exclude, user_words))
    penalty = _without(_distinct(wishes.penalty), ruled_out)
    must = _without(_distinct(wishes.must), ruled_out + penalty)
    retracted = retract_terms(wishes, user_words)
    gone = retracted + exclude + penalty + must
    return SessionConstraints(
        domain=wishes.domain or before.domain,
        must=_newest(_without(kept.must, gone) + must),
        exclude=_newest(_without(kept.exclude, gone) + exclude),
        penalty=_newest(_without(kept.penalty, gone) + penalty),
        budget=wishes.budget or (None if _takes_back_the_budget(retracted) else before.budget),
        destination=wishes.destination or before.destination,
    )


def retract_terms(wishes: TurnWishes, user_words: str) -> tuple[str, ...]:
    """The retractions that count: those the user said. What the planner made up changes nothing."""
    return _said(wishes.retract, user_words)


def _takes_back_the_budget(retracted: Iterable[str]) -> bool:
    return any(_folded(word) in _BUDGET_WORDS for word in retracted)


def _of_domain(before: SessionConstraints, domain: str | None) -> SessionConstraints:
    if domain is None or before.domain is None or domain == before.domain:
        return before
    return before.model_copy(update={"must": (), "exclude": (), "penalty": ()})


def _said(words: Iterable[str], user_words: str) -> tuple[str, ...]:
    """Latin letters count as words ("tea" is not said in "steak"), Chinese ones wherever they stand."""
    said, with_spaces = _folded(user_words), normalise(user_words)
    return tuple(
        word
        for word in words
        if (first_mention([word], "", with_spaces) if _folded(word).isascii() else _folded(word) in said)
    )


def _distinct(words: Iterable[str]) -> tuple[str, ...]:
    first = {_folded(word): word.strip() for word in reversed(tuple(words)) if _folded(word)}
    return tuple(reversed(first.values()))


def _without(words: Iterable[str], gone: Collection[str]) -> tuple[str, ...]:
    folded = {_folded(word) for word in gone}
    return tuple(word for word in words if _folded(word) not in folded)


def _newest(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[-WORDS_MAX:]


def _folded(text: str) -> str:
    """Width, case, spaces and what cannot be seen make no other word."""
    return "".join(normalise(text).split())
