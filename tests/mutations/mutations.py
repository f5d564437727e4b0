"""Lines that keep a promise, each taken away in turn, and the tests that must notice.

`text` is found in the source exactly once; whoever rewrites that line says here how the new one is taken away.
"""

from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

_MEMORY = "services/memory/src"
_COMMON = "libs/common/src"
_INTERLEAVINGS = "tests/integration/memory/test_interleavings.py"
_EVIDENCE = "tests/integration/memory/test_evidence.py"


@dataclass(frozen=True)
class Mutation:
    """`package` is a folder of sources, `file` lies in it; `text` there becomes `instead`, and `test` fails."""

    name: str
    package: str
    file: str
    text: str
    instead: str
    test: str

    @property
    def path(self) -> Path:
        return REPOSITORY / self.package / self.file


MUTATIONS = (
    Mutation(
        "the order check",
        _MEMORY,
        "memory/facts/upserting.py",
        "elif writer.order < existing.order:",
        "elif False:",
        f"{_INTERLEAVINGS}::test_of_two_sessions_the_later_turn_wins_whoever_commits_last",
    ),
    Mutation(
        "the tombstone check",
        _MEMORY,
        "memory/facts/tombstones.py",
        "return newest >= seq",
        "return False",
        f"{_INTERLEAVINGS}::test_a_deleted_or_cleared_fact_stays_away[delete-in_curation]",
    ),
    Mutation(
        "a replay is as old as its turn for the tombstones",
        _MEMORY,
        "memory/curation/ingest.py",
        "Writer(FactSource.CURATOR, turn.seq, request.run,",
        "Writer(FactSource.CURATOR, turn.seq + 1_000_000 * min(request.run, 1), request.run,",
        "tests/integration/memory/test_replay.py::test_what_the_user_deleted_refused_or_corrected_stays_so",
    ),
    Mutation(
        "the generation check",
        _MEMORY,
        "memory/curation/ingest.py",
        "if held.purge_generation != turn.purge_generation:",
        "if False:",
        f"{_INTERLEAVINGS}::test_a_clear_during_the_curators_model_call_drops_the_whole_batch",
    ),
    Mutation(
        "the lease predicate",
        _MEMORY,
        "memory/dispatch/records.py",
        "return bool(record.state == WorkState.LEASED and record.lease_token == token)",
        "return bool(record.state == WorkState.LEASED)",
        "tests/integration/memory/test_turn_life.py::test_a_claimed_turn_is_held_by_its_token_alone",
    ),
    Mutation(
        "a value without evidence waits for the user",
        _MEMORY,
        "memory/facts/proposals.py",
        "match verdict.support:",
        "match Support.EXPLICIT:",
        f"{_EVIDENCE}::test_what_the_words_do_not_hold_waits_for_the_user_however_often",
    ),
    Mutation(
        "the rules of evidence refuse",
        _MEMORY,
        "memory/facts/proposals.py",
        "if verdict.support is Support.REFUSED:",
        "if False:",
        f"{_EVIDENCE}::test_a_refusal_names_its_rule_and_leaves_nothing",
    ),
    Mutation(
        "an entry is acked when its outcome is recorded",
        _COMMON,
        "common/streams/consumer.py",
        "ack_policy=AckPolicy.ACK,",
        "ack_policy=AckPolicy.ACK_FIRST,",
        "tests/integration/test_consumer_recovery.py::test_an_entry_is_acked_when_its_handler_has_ended",
    ),
    Mutation(
        "the session's lock, under which a card is looked for and made",
        _MEMORY,
        "memory/turns/holding.py",
        ".with_for_update(of=[sessions, turns, dispatch], key_share=True)",
        "",
        "tests/integration/memory/test_orders.py::test_two_calls_at_once_make_one_card",
    ),
    Mutation(
        "a card that was settled while the turn ran is still the answer to its calls",
        _MEMORY,
        "memory/orders/proposing.py",
        'orders.c.settled_at >= bindparam("accepted_at"),',
        'orders.c.settled_at > bindparam("now"),',
        "tests/integration/memory/test_orders.py"
        "::test_a_card_that_is_settled_while_a_later_turn_runs_is_still_its_answer[confirmed]",
    ),
)
