"""From what stopped a turn to how it ends: an answer of its own, or a failure with a fixed one."""

from agent.context.entries import EntryFactory
from agent.loop.opening import user_message
from agent.loop.step_limit import StepLimitReached
from agent.loop.turn import Outcome, Turn
from agent.loop.turn_state import memory_uses_of, read_state, searches_of
from agent.planner.plan import stored_constraints
from common.answers import fixed_answer
from common.memory_api.turns import FailureCode, TurnReference
from common.streams.progress import ProgressEvent
from model_client.errors import ModelError, ModelMisbehaved


def failure_of(error: ModelError | StepLimitReached) -> FailureCode:
    match error:
        case StepLimitReached():
            return FailureCode.STEP_LIMIT
        case ModelMisbehaved():
            return FailureCode.MODEL_MISBEHAVED
        case _:
            return FailureCode.MODEL_UNAVAILABLE


def failed(turn: Turn, failure: FailureCode, make: EntryFactory) -> Outcome:
    """A failed turn leaves a valid log: here the user's words; memory adds a result for every open call and the
    fixed answer, as it does for turns that end without an agent."""
    spoken = read_state(turn.entries).has_user_message
    return Outcome(
        reply=fixed_answer(failure, turn.claimed.text),
        entries=[] if spoken else [user_message(turn, make)],
        failure=failure,
    )


async def store_ending(turn: Turn, outcome: Outcome) -> TurnReference:
    """The one transaction that ends the turn. Raises ProblemError where it is no longer ours."""
    last = turn.marked(outcome.entries)
    return await turn.memory.finish(
        turn.head,
        entries=last,
        failure=outcome.failure,
        reply=outcome.reply,
        items=outcome.items,
        memory_uses=memory_uses_of([*turn.entries, *last]),
        behaviour=searches_of(turn.entries),
        session_constraints=stored_constraints(turn.entries),
    )


def tell_ending(turn: Turn, outcome: Outcome) -> None:
    """Say it to whoever watches; only after it was stored."""
    if outcome.failure is None:
        items = [card.model_dump(mode="json") for card in outcome.items]
        turn.progress.emit(ProgressEvent.TURN_COMPLETED, {"reply": outcome.reply, "items": items})
    else:
        turn.progress.emit(ProgressEvent.TURN_FAILED, {"reply": outcome.reply, "failure": outcome.failure})
