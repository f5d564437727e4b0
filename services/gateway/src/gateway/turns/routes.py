"""Turns: post, look at, cancel."""

from uuid import UUID

from fastapi import APIRouter, Response

from common.memory_api.base import TurnRequest
from common.memory_api.operations import GET_TURN
from common.memory_api.turns import AcceptTurn, TurnView
from common.problems import ProblemCode
from gateway.authentication.caller import CurrentOwner
from gateway.dependencies import Acceptance, Cancellation, Memory
from gateway.openapi import WITH_BODY, problems
from gateway.turns.idempotency import GivenIdempotencyKey
from gateway.turns.schemas import NewTurn, PostedTurn, turn_url

router = APIRouter(tags=["turns"])


@router.post(
    "/api/sessions/{session_id}/turns",
    status_code=202,
    summary="Say something to the assistant",
    responses=problems(
        ProblemCode.IDEMPOTENCY_KEY_MISSING,
        ProblemCode.NOT_FOUND,
        ProblemCode.TURN_OPEN,
        ProblemCode.SESSION_ENDED,
        ProblemCode.IDEMPOTENCY_CONFLICT,
        ProblemCode.TOO_MANY_REQUESTS,
        ProblemCode.TOKEN_BUDGET,
        ProblemCode.UNAVAILABLE,
        ProblemCode.OVERLOADED,
        *WITH_BODY,
    ),
)
async def post_turn(
    session_id: UUID,
    key: GivenIdempotencyKey,
    turn: NewTurn,
    owner: CurrentOwner,
    acceptance: Acceptance,
    response: Response,
) -> PostedTurn:
    """The turn is stored and will end, whatever happens; follow it at `events_url`."""
    accepted = await acceptance.accept(
        AcceptTurn(owner=owner, session_id=session_id, idempotency_key=key, text=turn.text)
    )
    response.headers["Location"] = turn_url(accepted.turn_id)
    return PostedTurn.of(accepted)


@router.get(
    "/api/turns/{turn_id}",
    summary="A turn as it is now",
    responses=problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST),
)
async def get_turn(turn_id: UUID, owner: CurrentOwner, memory: Memory) -> TurnView:
    return await memory.ask(GET_TURN, TurnRequest(owner=owner, turn_id=turn_id))


@router.post(
    "/api/turns/{turn_id}/cancel",
    summary="Stop a turn",
    responses=problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST),
)
async def cancel_turn(turn_id: UUID, owner: CurrentOwner, cancellation: Cancellation) -> TurnView:
    """A turn that has ended already stays as it is."""
    return await cancellation.cancel(TurnRequest(owner=owner, turn_id=turn_id))
