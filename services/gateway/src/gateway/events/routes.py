"""The event stream of a turn."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header

from common.memory_api.base import TurnRequest
from common.memory_api.operations import GET_TURN
from common.problems import ProblemCode
from gateway.authentication.caller import CurrentCaller
from gateway.dependencies import Follower, Memory, Settings, WallClock
from gateway.events.entry import parse_entry_id
from gateway.events.stream_response import MEDIA_TYPE, EventStreamResponse
from gateway.openapi import problems

router = APIRouter(tags=["turns"])

_EXAMPLE = """retry: 1500

id: 1735689600000-0
event: turn.started
data: {"attempt":1,"n":1}

id: 1735689600050-0
event: text.delta
data: {"attempt":1,"n":2,"step":1,"offset":0,"text":"好的，"}

id: 1735689601000-0
event: turn.completed
data: {"attempt":1,"n":3,"reply":"好的，……","items":[]}

id: 1735689602000-0
event: memory.updated
data: {"outcomes":[{"key":"nut_allergy","action":"added","category":"constraint","value":"对坚果过敏"}]}

"""


@router.get(
    "/api/turns/{turn_id}/events",
    summary="Follow a turn as server-sent events",
    status_code=200,
    response_class=EventStreamResponse,
    responses={
        200: {"description": "The events of the turn", "content": {MEDIA_TYPE: {"example": _EXAMPLE}}},
        **problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST),
    },
)
async def follow_turn(
    turn_id: UUID,
    caller: CurrentCaller,
    memory: Memory,
    follower: Follower,
    settings: Settings,
    clock: WallClock,
    last_event_id: Annotated[str | None, Header(description="The `id` of the last event received")] = None,
) -> EventStreamResponse:
    """From the first event, or from the one after `Last-Event-ID`, to the end of the turn and of its curation.

    `turn.snapshot` replaces what was shown before it. `text.delta` puts `text` at `offset` of the text of `step`.
    """
    view = await memory.ask(GET_TURN, TurnRequest(owner=caller.owner, turn_id=turn_id))
    token_seconds = caller.expires_at + settings.jwt_leeway_seconds - clock.now().timestamp()
    chunks = follower.follow(
        caller.owner, view, parse_entry_id(last_event_id), min(settings.event_stream_seconds, token_seconds)
    )
    return EventStreamResponse(chunks, settings.send_timeout_seconds)
