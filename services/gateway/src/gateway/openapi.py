"""The problems of each route in the API description, with an example of each."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from common.problems import PROBLEM_JSON, Problem, ProblemCode

_REFERENCE = "#/components/schemas/"
_RETRIED = (
    ProblemCode.TURN_OPEN,
    ProblemCode.TOO_MANY_REQUESTS,
    ProblemCode.TOKEN_BUDGET,
    ProblemCode.OVERLOADED,
    ProblemCode.UNAVAILABLE,
)

DESCRIPTION = """A shopping assistant with a long-term memory that its user can see, correct and clear.

Post a turn, follow its events, and look at `/api/preferences` for what was remembered. Every error is a
`application/problem+json` document (RFC 9457) whose `code` is stable."""


def problems(*codes: ProblemCode) -> dict[int | str, dict[str, Any]]:
    """The `responses` of a route that may answer with these problems."""
    described: dict[int | str, dict[str, Any]] = {}
    for code in codes:
        problem = Problem.of(code)
        response = described.setdefault(
            problem.status,
            {
                "description": problem.title,
                "content": {
                    PROBLEM_JSON: {"schema": {"$ref": f"{_REFERENCE}Problem"}, "examples": {}},
                },
            },
        )
        example = problem.model_dump(mode="json", exclude_none=True)
        response["content"][PROBLEM_JSON]["examples"][code.value] = {"value": example}
        if code in _RETRIED:
            response["headers"] = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}
    return described


EVERYWHERE = problems(
    ProblemCode.UNAUTHENTICATED, ProblemCode.TOO_MANY_REQUESTS, ProblemCode.INTERNAL, ProblemCode.UNAVAILABLE
)
"""The problems of every route under /api."""

WITH_BODY = (ProblemCode.INVALID_REQUEST, ProblemCode.BODY_TOO_LARGE, ProblemCode.UNSUPPORTED_MEDIA_TYPE)
"""The problems of every route that takes a body."""


def install_description(app: FastAPI) -> None:
    """Add the schema of a problem, which no route returns as its own response."""

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            problem = Problem.model_json_schema(ref_template=_REFERENCE + "{model}")
            schemas = schema.setdefault("components", {}).setdefault("schemas", {})
            schemas.update(problem.pop("$defs", {}))
            schemas["Problem"] = problem
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]
