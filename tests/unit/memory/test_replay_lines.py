"""What a replay's command shows, and what it counts."""

from datetime import UTC, datetime
from uuid import UUID

from common.memory_api.facts import FactAction, FactOutcome
from common.memory_api.replay import ReplayCounts, ReplayJob, ReplayState, ReplayTurnState
from memory.replay.command import line_of
from memory.replay.comparison import counts_of


def job(**turns: int) -> ReplayJob:
    return ReplayJob(
        job_id=UUID(int=7),
        tenant_id="t1",
        user_id=None,
        session_id=None,
        since=None,
        until=None,
        failed_only=False,
        dry_run=True,
        turns_per_second=5,
        state=ReplayState.RUNNING,
        created_at=datetime(2026, 11, 30, tzinfo=UTC),
        finished_at=None,
        turns={state: turns.get(state.value, 0) for state in ReplayTurnState},
        counts=ReplayCounts(added=2),
    )


def test_the_bar_counts_what_has_ended() -> None:
    line = line_of(job(waiting=5, running=1, done=4, failed=1, gone=1))
    assert "dry run running" in line
    assert f"[{'#' * 12}{'.' * 12}] 6/12 turns, 1 failed, 1 gone: added 2 changed 0 removed 0" in line


def test_a_job_without_turns_is_full() -> None:
    assert f"[{'#' * 24}] 0/0 turns" in line_of(job())


def test_every_action_is_counted_once() -> None:
    outcomes = [FactOutcome(key="k", action=action) for action in FactAction]
    counts = counts_of(outcomes, removed=2)
    assert (counts.added, counts.changed, counts.candidates, counts.refused, counts.removed) == (1, 1, 1, 1, 2)
    assert sum(counts.model_dump().values()) == len(FactAction) + 2
