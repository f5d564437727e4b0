"""The OpenAPI description of the internal API, made from the table of operations that both sides share."""

from typing import Any

from pydantic.json_schema import models_json_schema

from common.memory_api.operations import Operation, all_operations
from common.problems import PROBLEM_JSON, Problem

_DESCRIPTION = """Internal: only the other services call it, each with a token of its own (`x-callers` says which may).
Every operation may be repeated: accept by its key, claims and writes by their lease token, tools by their call id.
Unknown fields are refused. A no is an `application/problem+json` document (RFC 9457) whose `code` is stable."""

_REFERENCE = "#/components/schemas/{model}"


def memory_openapi() -> dict[str, Any]:
    """The document, as JSON values."""
    operations = all_operations()
    models = {model for operation in operations for model in (operation.request, operation.response)} | {Problem}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, definitions = models_json_schema([(model, "validation") for model in ordered], ref_template=_REFERENCE)
    return {
        "openapi": "3.1.0",
        "info": {"title": "ShoppingX memory (internal)", "version": "1", "description": _DESCRIPTION},
        "paths": {operation.url_path: {"post": _described(operation)} for operation in operations},
        "components": {
            "schemas": dict(sorted(definitions["$defs"].items())),
            "securitySchemes": {"service": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"service": []}],
    }


def _described(operation: Operation[Any, Any]) -> dict[str, Any]:
    return {
        "operationId": operation.path.replace("/", "."),
        "tags": [operation.path.partition("/")[0]],
        "x-callers": sorted(operation.callers),
        "requestBody": {"required": True, "content": _body("application/json", operation.request)},
        "responses": {
            "200": {"description": "Done", "content": _body("application/json", operation.response)},
            "default": {"description": "A clear no", "content": _body(PROBLEM_JSON, Problem)},
        },
    }


def _body(media_type: str, model: type[Any]) -> dict[str, Any]:
    return {media_type: {"schema": {"$ref": _REFERENCE.format(model=model.__name__)}}}
