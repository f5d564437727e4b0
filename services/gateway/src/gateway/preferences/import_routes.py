"""Import of remembered facts, line by line, through the same gate as every other write."""

from fastapi import APIRouter, Request

from common.memory_api.facts import ImportFacts, ProposedFact
from common.memory_api.operations import IMPORT_FACTS
from common.problems import ProblemCode
from gateway.authentication.caller import NamedOwner
from gateway.dependencies import Memory
from gateway.limits.media_type import JSON_LINES
from gateway.openapi import WITH_BODY, problems
from gateway.preferences.import_lines import read_lines
from gateway.preferences.schemas import ImportOutcome, LineOutcome, LineResult

router = APIRouter(prefix="/api/preferences/{user_id}/import", tags=["preferences"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            media_type: {
                "schema": {"type": "string"},
                "example": '{"key": "nut_allergy", "value": "对坚果过敏", "category": "constraint"}\n',
            }
            for media_type in JSON_LINES
        },
    }
}


@router.post(
    "",
    summary="Bring facts along as JSON lines, such as an export",
    openapi_extra=_BODY,
    responses=problems(ProblemCode.FORBIDDEN, ProblemCode.MEMORY_DISABLED, *WITH_BODY),
)
async def import_facts(request: Request, owner: NamedOwner, memory: Memory) -> ImportOutcome:
    """Every line gets an outcome; a line that is refused does not stop the others. All that are taken are taken in one
    transaction, as your newest word. Of a key that comes twice the last line counts."""
    lines = read_lines(await request.body())
    proposed = {number: line for number, line in lines.items() if isinstance(line, ProposedFact)}
    imported = await memory.ask(IMPORT_FACTS, ImportFacts(owner=owner, proposed=list(proposed.values())))
    told = {number: line for number, line in lines.items() if isinstance(line, LineOutcome)}
    for number, outcome in zip(proposed, imported.outcomes, strict=True):
        told[number] = LineOutcome(line=number, result=LineResult(outcome.action), key=outcome.key, rule=outcome.rule)
    return ImportOutcome(lines=[told[number] for number in sorted(told)])
