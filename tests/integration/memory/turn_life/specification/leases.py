"""Who may work on a record, and when the next one may try."""

from tests.integration.memory.turn_life.specification.state import BACKOFF, LEASE, MAX_ATTEMPTS, Work

from common.memory_api.dispatch import WorkState
from common.problems import ProblemCode, ProblemError


def holds(work: Work, token: str) -> bool:
    """Only equality of the token decides, never the time."""
    return work.state is WorkState.LEASED and work.token == token


def must_hold(work: Work, token: str) -> None:
    if not holds(work, token):
        raise ProblemError(ProblemCode.LEASE_LOST)


def take(work: Work, token: str, now: float) -> bool:
    """Whether it is a new attempt: a repeated claim is the same claim."""
    if holds(work, token):
        work.lease_until = now + LEASE
        return False
    if work.state is WorkState.LEASED:
        raise ProblemError(ProblemCode.LEASE_HELD)
    if work.state is not WorkState.PENDING:
        raise ProblemError(ProblemCode.ALREADY_DONE)
    if work.next_attempt_at > now or work.attempts >= MAX_ATTEMPTS:
        raise ProblemError(ProblemCode.NOT_DUE)
    work.state, work.token, work.lease_until = WorkState.LEASED, token, now + LEASE
    work.attempts += 1
    return True


def end(work: Work, state: WorkState = WorkState.DONE) -> None:
    """By its worker: the token stays, so that a repeated finish is recognised."""
    work.state = state


def revoke(work: Work, state: WorkState) -> None:
    """Over its worker's head."""
    work.state, work.token = state, None


def hand_back(work: Work, due_at: float, *, spend: bool) -> None:
    """Waiting is not failing: a dependency that is down spends no attempt."""
    work.state, work.token = WorkState.PENDING, None
    work.attempts -= 0 if spend else 1
    work.next_attempt_at = work.publish_after = due_at


def pause_after(attempts: int) -> float:
    """None after the first attempt: a killed worker says nothing about the work."""
    return 0.0 if attempts <= 1 else BACKOFF
