"""Writing one proposed fact: gate, then the user's newer word, then the table."""

from uuid import UUID

from common.logs import get_logger
from common.memory_api.facts import Fact, FactAction, FactOutcome, FactSource, MemoryCategory, ProposedFact
from common.problems import ProblemCode, ProblemError
from memory.database.transactions import UserTransaction
from memory.facts.gate import FactRefusal, ValidFact, clean_fact_key, refusal_message, validate_fact
from memory.facts.known import Known, read_known
from memory.facts.rows import Writer, read_fact
from memory.facts.upserting import upsert_facts
from memory.users import next_seq

_log = get_logger(__name__)

MEMORY_DISABLED = "memory-disabled"
MEMORY_FULL = "memory-full"


def through_gate(tx: UserTransaction, proposed: ProposedFact) -> ValidFact | FactOutcome:
    checked = validate_fact(proposed.key, proposed.value, proposed.category, tx.policy.identifier_rules)
    if isinstance(checked, FactRefusal):
        _log.info("fact.refused", rule=checked.rule, key=checked.key)
        return FactOutcome(key=checked.key, action=FactAction.REFUSED, rule=checked.rule)
    return checked


async def write_fact(tx: UserTransaction, known: Known, fact: ValidFact, writer: Writer) -> FactOutcome:
    """Write a fact that has passed the gate; the caller holds the user's lock."""
    if known.tombstones.stop(fact.key, fact.value, writer.seq):
        return outcome(fact, FactAction.DELETED_BY_USER)
    if known.of_key(fact.key) is None and len(known) >= tx.policy.max_facts:
        # Which of their facts is to make room, only the user can say.
        return FactOutcome(key=fact.key, action=FactAction.REFUSED, rule=MEMORY_FULL)
    return outcome(fact, await upsert_facts(tx, known, fact, writer))


async def write_for_user(tx: UserTransaction, proposed: ProposedFact, candidate_id: UUID | None = None) -> Fact:
    """Write on the user's own word, which is newer than everything; the caller holds the user's lock."""
    must_be_enabled(tx)
    known = await read_known(tx)
    stands = known.of_key(clean_fact_key(proposed.key))
    if proposed.category is None and stands is not None:
        proposed = proposed.model_copy(update={"category": stands.category})
    checked = through_gate(tx, proposed)
    if isinstance(checked, FactOutcome):
        raise ProblemError(
            ProblemCode.FACT_REFUSED, refusal_message(checked.rule or ""), rule=checked.rule, key=checked.key
        )
    written = await write_fact(
        tx, known, checked, Writer(FactSource.USER, seq=await next_seq(tx), candidate_id=candidate_id)
    )
    tx.measured.fact_proposed(FactSource.USER, written)
    if written.rule == MEMORY_FULL:
        raise ProblemError(ProblemCode.MEMORY_FULL, f"at most {tx.policy.max_facts} facts; delete some first")
    fact = await read_fact(tx, checked.key)
    if fact is None or written.action is FactAction.OUTDATED:
        raise ProblemError(ProblemCode.FACT_OUTDATED)
    return fact


def must_be_enabled(tx: UserTransaction) -> None:
    """Raises ProblemError. What is there may still be seen, exported, deleted and cleared."""
    if not tx.policy.memory_enabled:
        raise ProblemError(ProblemCode.MEMORY_DISABLED)


def outcome(fact: ValidFact, action: FactAction) -> FactOutcome:
    return FactOutcome(
        key=fact.key,
        action=action,
        category=MemoryCategory(fact.category),
        value=fact.value if action.remembered else None,
    )
