"""Facts that the user brings along, in one transaction and through the same gate as every other write."""

from common.memory_api.facts import FactOutcome, FactSource, Imported, ImportFacts, ProposedFact
from memory.database.transactions import UserTransaction
from memory.facts.known import Known, read_known
from memory.facts.rows import Writer
from memory.facts.writing import must_be_enabled, through_gate, write_fact
from memory.users import lock_user, next_seq


async def import_facts(tx: UserTransaction, request: ImportFacts) -> Imported:
    """All of them are one edit with one seq: of a key that comes twice the last one counts."""
    await lock_user(tx)
    must_be_enabled(tx)
    writer = Writer(FactSource.IMPORT, seq=await next_seq(tx))
    known = await read_known(tx)
    return Imported(outcomes=[await _take(tx, known, proposed, writer) for proposed in request.proposed])


async def _take(tx: UserTransaction, known: Known, proposed: ProposedFact, writer: Writer) -> FactOutcome:
    checked = through_gate(tx, proposed)
    outcome = checked if isinstance(checked, FactOutcome) else await write_fact(tx, known, checked, writer)
    tx.measured.fact_proposed(FactSource.IMPORT, outcome)
    return outcome
