"""Statements: clauses of a message, with who says each, about whom, and how it is meant."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from memory.facts.evidence import signs
from memory.facts.evidence.forgetting import takes_back, to_be_forgotten, without_reminders
from memory.facts.wording.attitude import is_against, without_attitude
from memory.facts.wording.content import content_words, folded
from memory.facts.wording.persons import OTHER, SELF, kind_of, mentions_in, names_self
from memory.facts.wording.quantities import quantities_in


class Fault(StrEnum):
    """Why a statement is no evidence. The values are ids of rules."""

    PASTED = "evidence-pasted"
    QUOTED = "evidence-quoted"
    PRETENDED = "evidence-pretended"
    ASSENT = "evidence-assent"
    FORGET = "evidence-forget"
    ASKED = "evidence-asked"
    SUPPOSED = "evidence-supposed"
    REPORTED = "evidence-reported"
    LOOK_UP = "evidence-look-up"
    THIS_TURN = "evidence-this-turn"


@dataclass(frozen=True)
class Statement:
    """A clause, or neighbouring clauses of one sentence that are alike in everything but their words."""

    text: str
    """Folded."""
    about: str
    """SELF, or the person it speaks of."""
    mentions: frozenset[str]
    against: bool
    lasting: bool
    """Says something that holds beyond this purchase."""
    hedged: bool
    hints: bool
    """Shows a liking or a refusal without saying that it lasts."""
    faults: frozenset[Fault]
    joined: bool = False
    """Made of neighbours, for what none of them says alone."""

    @cached_property
    def words(self) -> frozenset[str]:
        """Its content: English stems and stretches of Chinese."""
        return frozenset(content_words(self.text)) | frozenset(content_words(without_attitude(self.text)))

    def holds(self, unit: str) -> bool:
        """Whether a unit of content is in it: an English stem as a word, Chinese as a part of one."""
        return unit in self.words or (not unit.isascii() and any(unit in word for word in self.words))

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(number for number, _ in quantities_in(self.text))

    def alike(self, other: "Statement") -> bool:
        return (self.about, self.against, self.faults, self.hedged) == (
            other.about,
            other.against,
            other.faults,
            other.hedged,
        )


_SENTENCE = re.compile(r"[^。！!？?\n；;…]+(?:[。！!？?；;…]+|\n|$)")
_INSIDE_WORDS = re.compile(r"(?<=[a-z])\.(?=\s|$)")
_CLAUSE = re.compile(
    r"[，|：\[\]]|(?<!\d)[,:]|[,:](?!\d)|(?=但是?|可是|而且|因为|所以|不过(?!敏)|然后)|\s(?=but |because "
    r"|although |though |so (?:i|we|please) |and (?:i|i'm|my|we|please|ship|he|she|always|never)\b|who )"
)
_TURN_OF_MIND = re.compile(r"(?<=\S\S)(?=不喜欢|讨厌|不爱|不吃|不喝|不穿|不要)")
_LIKES_BEFORE = re.compile(r"喜欢|偏爱|爱(?:吃|喝|穿)|可以")
_ATTRIBUTIVE = re.compile(r"(?<![我家])的\s*$")
_PETS = frozenset({"cat", "dog", "pet"})


@dataclass(frozen=True)
class Sentence:
    """A sentence of the user's own, taken apart only when somebody asks."""

    text: str
    """Normalised."""
    before: "Sentence | None"
    """The one before it in the same passage."""
    after: str
    """The words of the user's next one; empty at the end."""
    pretended: bool
    """It belongs to a role, a story or a joke."""

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Its clauses, and the runs that neighbours make."""
        told, _ = self._told
        faults = self._faults_of_all
        clauses = [replace(each, faults=each.faults | faults) for each in told] if faults else told
        return (*clauses, *_runs(clauses))

    @property
    def _faults_of_all(self) -> frozenset[Fault]:
        faults = {Fault.PRETENDED: self.pretended, Fault.FORGET: takes_back(_clauses(without_reminders(self.after)))}
        return frozenset(fault for fault, applies in faults.items() if applies)

    @cached_property
    def _told(self) -> tuple[list[Statement], str]:
        """The clauses, and the person whom the next sentence may go on about."""
        text = without_reminders(self.text)
        clauses = _clauses(text)
        goes_on = self.before is not None and bool(clauses) and signs.CONTINUES.search(clauses[0]) is not None
        topic = self.before._told[1] if goes_on and self.before is not None else SELF
        remembering = signs.ASKS_TO_REMEMBER.search(self.text) is not None
        told: list[Statement] = []
        for clause, faults in zip(clauses, _faults_by_clause(text, clauses), strict=True):
            about, topic = _person(clause, topic)
            statement = _statement(clause, about, faults, remembering)
            if told and signs.ALSO.search(clause) and not _speaks_for_itself(clause):
                before = told[-1]
                statement = replace(statement, against=before.against, lasting=before.lasting, hedged=before.hedged)
            told.append(statement)
        return told, topic


def foreign_statement(text: str, fault: Fault) -> Statement:
    """What is not the user's own, as a whole: nothing in it counts."""
    return _statement(text, SELF, frozenset({fault}), remembering=False)


def _clauses(sentence: str) -> list[str]:
    parts = [part for part in _CLAUSE.split(sentence.strip("。.!！?？;；… ")) if part.strip(" 。.")]
    return [piece.strip() for part in parts for piece in _at_turns_of_mind(part)]


def _at_turns_of_mind(part: str) -> list[str]:
    """「喜欢简约不喜欢花哨」 is two statements."""
    pieces: list[str] = []
    begin = 0
    for found in _TURN_OF_MIND.finditer(part):
        if _LIKES_BEFORE.search(part[begin : found.start()]) and part[found.start() - 1] not in "我也都很":
            pieces.append(part[begin : found.start()])
            begin = found.start()
    return [*pieces, part[begin:]]


def _person(text: str, topic: str) -> tuple[str, str]:
    """Whom the clause is about, and whom the next one is about if it names nobody."""
    mentions = mentions_in(text)
    if not mentions:
        return (SELF, SELF) if names_self(text) else (topic, topic)
    person = next((each.person for each in mentions if each.person != OTHER), topic if topic != SELF else OTHER)
    if any(_ATTRIBUTIVE.search(text[: each.start]) for each in mentions) or text.startswith("who "):
        return person, person
    if names_self(text):
        return SELF, (SELF if kind_of(person) in _PETS else person)
    return person, person


def _faults_by_clause(sentence: str, clauses: list[str]) -> list[frozenset[Fault]]:
    asked_at_end = sentence.rstrip().endswith(("?", "？"))
    opens_as_question = signs.OPENS_A_QUESTION.match(sentence) is not None
    assents = signs.ASSENTS.search(sentence) is not None
    forgotten = to_be_forgotten(clauses)
    supposed = reported = passing = False
    found: list[frozenset[Fault]] = []
    for position, text in enumerate(clauses):
        supposed = supposed or signs.SUPPOSES.search(text) is not None
        reported = reported or (signs.SOMEBODY_SAID.search(text) is not None and signs.DOCTOR_SAID.search(text) is None)
        passing = passing or signs.THIS_TIME.search(text) is not None
        last = position == len(clauses) - 1
        before_tag = position == len(clauses) - 2 and signs.ONLY_A_TAG.search(clauses[-1]) is not None
        asked = (
            signs.ASKS.search(text) is not None
            or (position == 0 and opens_as_question)
            or (asked_at_end and (last or before_tag or opens_as_question))
        )
        faults = {
            Fault.ASSENT: assents,
            Fault.FORGET: forgotten[position],
            Fault.ASKED: asked,
            Fault.SUPPOSED: supposed,
            Fault.REPORTED: reported,
            Fault.LOOK_UP: _is_look_up(text),
            Fault.THIS_TURN: _is_this_turn(text) or (passing and _stands_back(text)),
        }
        found.append(frozenset(fault for fault, applies in faults.items() if applies))
    return found


def _is_look_up(text: str) -> bool:
    return signs.LOOK_UP.search(text) is not None and signs.STANDING.search(text) is None


def _is_this_turn(text: str) -> bool:
    if signs.THIS_TIME.search(text):
        return True
    if signs.STANDING.search(text):
        return False
    return any(sign.search(text) for sign in (signs.ASKS_FOR, signs.THIS_ITEM, signs.BUDGET, signs.MOOD))


def _stands_back(text: str) -> bool:
    """Says nothing that lasts by itself, so that "today" and "just for this gift" before it hold for it too."""
    return not (signs.STANDING.search(text) or signs.LASTS.search(text) or names_self(text))


def _statement(text: str, about: str, faults: frozenset[Fault], remembering: bool) -> Statement:
    return Statement(
        text=folded(text),
        about=about,
        mentions=frozenset(mention.person for mention in mentions_in(text)),
        against=is_against(folded(text)),
        lasting=remembering or signs.STANDING.search(text) is not None or signs.LASTS.search(text) is not None,
        hedged=signs.HEDGES.search(text) is not None,
        hints=signs.HINTS.search(text) is not None,
        faults=faults,
    )


def _speaks_for_itself(text: str) -> bool:
    return is_against(folded(text)) or re.search(r"喜欢|爱|like|love|prefer", text) is not None


def _runs(sentence: list[Statement]) -> Iterator[Statement]:
    """Neighbours that are alike, joined: 「我对坚果过敏，对海鲜也过敏」 carries "nuts and seafood"."""
    run: list[Statement] = []
    for statement in [*sentence, None]:
        if statement is not None and (not run or run[-1].alike(statement)):
            run.append(statement)
            continue
        if len(run) > 1:
            yield _joined(run)
        run = [] if statement is None else [statement]


def _joined(run: list[Statement]) -> Statement:
    return replace(
        run[0],
        text="，".join(each.text for each in run),
        mentions=frozenset(person for each in run for person in each.mentions),
        hints=any(each.hints for each in run),
        joined=True,
    )
