"""What becomes of a proposed fact, whoever proposes it: the curator or `save_memory`.

In order: the gate, the key, the evidence in the user's words, the user's own later word, what is known already.
The caller holds the user's lock.
"""

from collections.abc import Sequence

from common.memory_api.facts import FactAction, FactOutcome, FactSource, ProposedFact
from memory.database.transactions import UserTransaction
from memory.facts.candidates import Basis, drop_candidates, inferred_before, take_candidate
from memory.facts.evidence.judgement import Support, judge
from memory.facts.evidence.subject_key import subject_key
from memory.facts.evidence.user_words import UserWords
from memory.facts.expiry import renew
from memory.facts.gate import ValidFact
from memory.facts.known import Known, read_known
from memory.facts.relations import Relations, relations_of
from memory.facts.rows import MemoryFactRow, Writer
from memory.facts.upserting import Evidence, add_evidence
from memory.facts.writing import outcome, through_gate, write_fact

_Related = Relations[MemoryFactRow]

KEY_NAMES_VALUE = "key-names-value"

_RESTS_ON_THE_TURN = frozenset({FactAction.ADDED, FactAction.UPDATED, FactAction.SUPPORTED})


def through_door(tx: UserTransaction, proposed: ProposedFact) -> ValidFact | FactOutcome:
    """The gate, and a key that names its subject and not its value."""
    fact = through_gate(tx, proposed)
    if isinstance(fact, FactOutcome):
        return fact
    key = subject_key(fact.key, fact.value)
    if key is None:
        return FactOutcome(key=fact.key, action=FactAction.REFUSED, rule=KEY_NAMES_VALUE)
    return fact if key == fact.key else _under(tx, fact, key)


def _under(tx: UserTransaction, fact: ValidFact, key: str) -> ValidFact | FactOutcome:
    """The fact under another key, which passes the gate like any other."""
    return through_gate(tx, ProposedFact(key=key, value=fact.value, category=fact.category))


async def take_proposals(
    tx: UserTransaction, checked: Sequence[ValidFact | FactOutcome], writer: Writer, words: UserWords
) -> list[FactOutcome]:
    """Keep each, hold it as a candidate, or refuse it; what the door has refused stays so. `words` are the user's own
    of the writer's turn."""
    if not any(isinstance(each, ValidFact) for each in checked):  # as after most turns: nothing need be known
        return [each for each in checked if isinstance(each, FactOutcome)]
    taking = _Taking(tx, await read_known(tx), writer, words)
    outcomes = [each if isinstance(each, FactOutcome) else await taking.take(each) for each in checked]
    await taking.settle()
    return outcomes


class _Taking:
    """The proposals of one turn on their way into memory."""

    def __init__(self, tx: UserTransaction, known: Known, writer: Writer, words: UserWords) -> None:
        self._tx = tx
        self._known = known
        self._writer = writer
        self._words = words
        self._evidence: list[Evidence] = []
        self._kept: list[str] = []

    async def take(self, fact: ValidFact) -> FactOutcome:
        verdict = judge(fact.key, fact.value, self._words)
        if verdict.support is Support.REFUSED:
            return FactOutcome(key=fact.key, action=FactAction.REFUSED, rule=verdict.rule)
        related = relations_of(fact, self._known.facts)
        match verdict.support:
            case Support.UNSUPPORTED:
                return await self._ask_the_user(fact, related)
            case Support.INFERRED:
                return await self._wait_for_another_turn(fact, related)
            case _:
                return await self._keep(fact, related)

    async def settle(self) -> None:
        """What all of them leave behind: the turns that the facts rest on, and candidates that wait no longer."""
        if self._evidence:
            await add_evidence(self._tx, self._evidence)
        if self._kept:
            await drop_candidates(self._tx, None, self._kept)

    async def _ask_the_user(self, fact: ValidFact, related: _Related) -> FactOutcome:
        """The model's own idea, or memory that it was shown. The user's no to it stands until they say it themself."""
        if related.same is not None:
            return outcome(fact, FactAction.DUPLICATE)
        if self._known.tombstones.stop(fact.key, fact.value, seq=0):
            return outcome(fact, FactAction.DELETED_BY_USER)
        return await take_candidate(self._tx, self._known, fact, self._writer, Basis.UNSUPPORTED)

    async def _wait_for_another_turn(self, fact: ValidFact, related: _Related) -> FactOutcome:
        if related.same is not None:
            return await self._keep(fact, related)
        before = await inferred_before(self._tx, fact, self._writer)
        if before is None:
            return await take_candidate(self._tx, self._known, fact, self._writer, Basis.INFERRED)
        kept = await self._keep(fact, related)
        if kept.action.remembered and kept.key is not None and (row := self._known.of_key(kept.key)) is not None:
            self._evidence.append(Evidence(row.fact_id, before.turn_id, before.session_id, self._writer.source))
        return kept

    async def _keep(self, fact: ValidFact, related: _Related) -> FactOutcome:
        if self._known.tombstones.stop(fact.key, fact.value, self._writer.seq):
            return outcome(fact, FactAction.DELETED_BY_USER)
        stands = self._known.of_key(fact.key) is not None
        if related.same is not None and not stands and self._writer.source is FactSource.CURATOR:
            return await self._support(fact, related.same)
        # What it contradicts under another key is an older state of the same thing: it is overwritten where it stands.
        keys = [row.fact_key for row in related.contradicted]
        written = [await self._write(fact, key) for key in ([fact.key, *keys] if stands else keys or [fact.key])]
        self._kept.append(fact.value)
        return written[0]

    async def _write(self, fact: ValidFact, key: str) -> FactOutcome:
        checked = fact if key == fact.key else _under(self._tx, fact, key)
        if isinstance(checked, FactOutcome):
            return checked
        written = await write_fact(self._tx, self._known, checked, self._writer)
        if written.action in _RESTS_ON_THE_TURN and (row := self._known.of_key(checked.key)) is not None:
            self._say_it_rests_on_the_turn(row)
        return written

    async def _support(self, fact: ValidFact, twin: MemoryFactRow) -> FactOutcome:
        self._say_it_rests_on_the_turn(twin)
        if not self._writer.run:  # in a replay nobody says anything
            await renew(self._tx, twin.fact_id)
        return outcome(fact, FactAction.DUPLICATE)

    def _say_it_rests_on_the_turn(self, row: MemoryFactRow) -> None:
        writer = self._writer
        if writer.turn_id is not None and writer.session_id is not None:
            self._evidence.append(Evidence(row.fact_id, writer.turn_id, writer.session_id, writer.source))
