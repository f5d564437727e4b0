"""Everything that is kept about a user: export and erase."""

from fastapi import APIRouter
from fastapi.responses import StreamingResponse

from common.ids import new_id
from common.memory_api.operations import ERASE_USER
from common.memory_api.personal_data import Erased, EraseUser
from common.problems import ProblemCode
from gateway.authentication.caller import NamedOwner
from gateway.dependencies import Memory
from gateway.limits.media_type import JSON_LINES
from gateway.openapi import problems
from gateway.personal_data.export_stream import export_lines, first_page

router = APIRouter(prefix="/api/users/{user_id}", tags=["personal data"])

_MEDIA_TYPE = JSON_LINES[0]


@router.get(
    "/export",
    summary="Everything that is kept about you, as JSON lines",
    response_class=StreamingResponse,
    responses={
        200: {"description": "One record per line; the last line has the type `end`", "content": {_MEDIA_TYPE: {}}},
        **problems(ProblemCode.FORBIDDEN, ProblemCode.INVALID_REQUEST),
    },
)
async def export_data(owner: NamedOwner, memory: Memory) -> StreamingResponse:
    """Facts with versions and sources, candidates, settings, favourites, your skills, behaviour history, sessions and
    turns."""
    page = await first_page(memory, owner)
    return StreamingResponse(
        export_lines(memory, owner, page),
        media_type=_MEDIA_TYPE,
        headers={"Content-Disposition": 'attachment; filename="shoppingx-export.jsonl"', "Cache-Control": "no-store"},
    )


@router.delete(
    "",
    summary="Erase everything that is kept about you",
    responses=problems(ProblemCode.FORBIDDEN, ProblemCode.INVALID_REQUEST),
)
async def erase_user(owner: NamedOwner, memory: Memory) -> Erased:
    """All your rows and the key that encrypted them. What runs for you ends; nothing from before comes back."""
    return await memory.ask(ERASE_USER, EraseUser(owner=owner, request_id=new_id()))
