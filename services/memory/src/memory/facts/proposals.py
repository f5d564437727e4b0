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
from memory.facts.upserting import add_evidence
from memory.facts.writing import outcome, through_gate, write_fact

_Related = Relations[MemoryFactRow]

KEY_NAMES_VALUE = "key-names-value"


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
    if all(isinstance(each, FactOutcome) for each in checked):
        return [each for each in checked if isinstance(each, FactOutcome)]
    known = await read_known(tx)
    return [each if isinstance(each, FactOutcome) else await _take(tx, known, each, writer, words) for each in checked]


async def _take(tx: UserTransaction, known: Known, fact: ValidFact, writer: Writer, words: UserWords) -> FactOutcome:
    verdict = judge(fact.key, fact.value, words)
    if verdict.support is Support.REFUSED:
        return FactOutcome(key=fact.key, action=FactAction.REFUSED, rule=verdict.rule)
    related = relations_of(fact, known.facts)
    match verdict.support:
        case Support.UNSUPPORTED:
            return await _ask_the_user(tx, known, fact, writer, related)
        case Support.INFERRED:
            return await _wait_for_another_turn(tx, known, fact, writer, related)
        case _:
            return await _keep(tx, known, fact, writer, related)


async def _ask_the_user(
    tx: UserTransaction, known: Known, fact: ValidFact, writer: Writer, related: _Related
) -> FactOutcome:
    """The model's own idea, or memory that it was shown. The user's no to it stands until they say it themself."""
    if related.same is not None:
        return outcome(fact, FactAction.DUPLICATE)
    if known.tombstones.stop(fact.key, fact.value, seq=0):
        return outcome(fact, FactAction.DELETED_BY_USER)
    return await take_candidate(tx, known, fact, writer, Basis.UNSUPPORTED)


async def _wait_for_another_turn(
    tx: UserTransaction, known: Known, fact: ValidFact, writer: Writer, related: _Related
) -> FactOutcome:
    if related.same is not None:
        return await _keep(tx, known, fact, writer, related)
    before = await inferred_before(tx, fact, writer)
    if before is None:
        return await take_candidate(tx, known, fact, writer, Basis.INFERRED)
    kept = await _keep(tx, known, fact, writer, related)
    if kept.action.remembered and kept.key is not None and (row := known.of_key(kept.key)) is not None:
        await add_evidence(tx, row.fact_id, before.turn_id, before.session_id, writer.source)
    return kept


async def _keep(tx: UserTransaction, known: Known, fact: ValidFact, writer: Writer, related: _Related) -> FactOutcome:
    if known.tombstones.stop(fact.key, fact.value, writer.seq):
        return outcome(fact, FactAction.DELETED_BY_USER)
    stands = known.of_key(fact.key) is not None
    if related.same is not None and not stands and writer.source is FactSource.CURATOR:
        return await _support(tx, fact, writer, related.same)
    # What it contradicts under another key is an older state of the same thing: it is overwritten where it stands.
    keys = [row.fact_key for row in related.contradicted]
    written = [
        await _write(tx, known, fact if key == fact.key else _under(tx, fact, key), writer)
        for key in ([fact.key, *keys] if stands else keys or [fact.key])
    ]
    await drop_candidates(tx, None, [fact.value])
    return written[0]


async def _write(tx: UserTransaction, known: Known, checked: ValidFact | FactOutcome, writer: Writer) -> FactOutcome:
    return checked if isinstance(checked, FactOutcome) else await write_fact(tx, known, checked, writer)


async def _support(tx: UserTransaction, fact: ValidFact, writer: Writer, twin: MemoryFactRow) -> FactOutcome:
    if writer.turn_id is not None and writer.session_id is not None:
        await add_evidence(tx, twin.fact_id, writer.turn_id, writer.session_id, writer.source)
    if not writer.run:  # in a replay nobody says anything
        await renew(tx, twin.fact_id)
    return outcome(fact, FactAction.DUPLICATE)
