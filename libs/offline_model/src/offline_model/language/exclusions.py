"""What the words of a turn rule out of its search. What the search is for is never ruled out."""

from collections.abc import Iterable

from offline_model.language.avoidance import avoidances_in
from offline_model.language.clauses import clauses_of
from offline_model.language.demands import dislike_spans
from offline_model.language.refused_kinds import RefusedKind, refused_kinds_in
from offline_model.language.wishes import bare_phrase, wishes_in


def exclusions_in(words: str) -> list[str]:
    """What is refused outright, in the user's words."""
    clauses = [
        clause.text
        for clause in clauses_of(words)
        if not (clause.reported or clause.question or dislike_spans(clause.text))
    ]
    named = [avoidance.name for clause in clauses for avoidance in avoidances_in(clause)]
    kinds = [kind.words[0] for kind in _kinds_not_sought(words, clauses)]
    return [name for name in dict.fromkeys([*named, *kinds]) if name]


def search_exclusions_in(words: str) -> list[list[str]]:
    """A list of words for each thing. Also what another person must avoid, if the turn names it: it is what is bought
    for them now."""
    clauses = [
        clause.text
        for clause in clauses_of(words)
        if not (clause.reported or dislike_spans(clause.text) or (clause.question and "过敏" in clause.text))
    ]
    return [
        *(list(avoidance.words) for clause in clauses for avoidance in avoidances_in(clause)),
        *(list(kind.words) for kind in _kinds_not_sought(words, clauses)),
    ]


def _kinds_not_sought(words: str, clauses: Iterable[str]) -> list[RefusedKind]:
    """「不要茶，要茶杯」: a search that excludes 茶 would hide every 茶杯."""
    kinds = [kind for clause in clauses for kind in refused_kinds_in(clause)]
    sought = _sought(words) if kinds else ()
    return [kind for kind in kinds if not any(kind.is_named_in(query) for query in sought)]


def _sought(words: str) -> tuple[str, ...]:
    """A refinement's own words name no thing: those of 「不要黑色，黑色显脏，换一批」 are reasons."""
    wishes = wishes_in(words)
    return wishes.queries if wishes.queries or wishes.refines else (bare_phrase(words),)
