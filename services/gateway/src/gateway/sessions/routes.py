"""Sessions: open, list, end, their turns and what they cost."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response

from common.memory_api.operations import (
    CREATE_SESSION,
    END_SESSION,
    GET_SESSION,
    LIST_SESSIONS,
    SESSION_TURNS,
    SESSION_USAGE,
)
from common.memory_api.sessions import CreateSession, ListSessions, Session, SessionRequest, Sessions
from common.memory_api.turns import Turns
from common.memory_api.usage import Usage
from common.problems import ProblemCode
from gateway.authentication.caller import CurrentOwner
from gateway.dependencies import Memory
from gateway.openapi import problems

router = APIRouter(prefix="/api/sessions", tags=["sessions"])

_BY_ID = problems(ProblemCode.NOT_FOUND, ProblemCode.INVALID_REQUEST)


async def _request(session_id: UUID, owner: CurrentOwner) -> SessionRequest:
    return SessionRequest(owner=owner, session_id=session_id)


OneSession = Annotated[SessionRequest, Depends(_request)]


@router.post("", status_code=201, summary="Open a session")
async def create_session(owner: CurrentOwner, memory: Memory, response: Response) -> Session:
    session = await memory.ask(CREATE_SESSION, CreateSession(owner=owner))
    response.headers["Location"] = f"/api/sessions/{session.session_id}"
    return session


@router.get("", summary="Your sessions, newest first", responses=problems(ProblemCode.INVALID_REQUEST))
async def list_sessions(
    owner: CurrentOwner, memory: Memory, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Sessions:
    return await memory.ask(LIST_SESSIONS, ListSessions(owner=owner, limit=limit))


@router.get("/{session_id}", summary="A session", responses=_BY_ID)
async def get_session(session: OneSession, memory: Memory) -> Session:
    return await memory.ask(GET_SESSION, session)


@router.post("/{session_id}/end", summary="End a session", responses=_BY_ID)
async def end_session(session: OneSession, memory: Memory) -> Session:
    return await memory.ask(END_SESSION, session)


@router.get("/{session_id}/turns", summary="What was said in a session", responses=_BY_ID)
async def list_turns(session: OneSession, memory: Memory) -> Turns:
    return await memory.ask(SESSION_TURNS, session)


@router.get("/{session_id}/usage", summary="What the model calls of a session cost", responses=_BY_ID)
async def get_usage(session: OneSession, memory: Memory) -> Usage:
    """Every call with its tokens as the provider reported them (`null` is unknown, never zero), and the share that came
    from the prefix cache: in all, by turns and by kind, with the calls that should have read more."""
    return await memory.ask(SESSION_USAGE, session)
