"""Answers in the form of a schema: filled with what is known, and else the smallest JSON value that is accepted."""

import json
from typing import Any

from offline_model.chat.requests import ChatRequest
from offline_model.playing.play import Play

_MAX_DEPTH = 32


def play_structured(request: ChatRequest) -> Play:
    json_schema = request.response_format.json_schema if request.response_format else None
    value = minimal_value(json_schema.definition) if json_schema else {}
    return Play(json.dumps(value, ensure_ascii=False))


def minimal_value(schema: dict[str, Any]) -> Any:
    return _value(schema, schema, 0)


def filled_value(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """An object by the schema: its fields that are known and that the schema accepts, the smallest value for others."""
    fields = schema.get("properties", {})
    filled = minimal_value(schema)
    if not isinstance(filled, dict) or not isinstance(fields, dict):
        return known
    accepted = {name: known[name] for name in fields if name in known and _accepts(fields[name], known[name], schema)}
    return {name: accepted.get(name, filled.get(name)) for name in fields if name in accepted or name in filled}


def _accepts(schema: dict[str, Any], value: Any, root: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return _accepts(_resolved(schema["$ref"], root), value, root)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return any(_accepts(choice, value, root) for choice in choices)
    if "enum" in schema and value not in schema["enum"]:
        return False
    kinds = schema.get("type", [])
    return not kinds or bool(_kinds(value) & set(kinds if isinstance(kinds, list) else [kinds]))


def _kinds(value: Any) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, float):
        return {"number", *(["integer"] if value.is_integer() else [])}
    return {_KINDS[type(value)]} | ({"number"} if isinstance(value, int) else set())


_KINDS = {str: "string", int: "integer", list: "array", dict: "object", type(None): "null"}


def _value(schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        return None
    if "$ref" in schema:
        return _value(_resolved(schema["$ref"], root), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if schema.get(choice):
            return _value(schema[choice][-1], root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object")
    match kind[-1] if isinstance(kind, list) else kind:
        case "object":
            properties = schema.get("properties", {})
            return {name: _value(properties.get(name, {}), root, depth + 1) for name in schema.get("required", [])}
        case "array":
            return [_value(schema.get("items", {}), root, depth + 1) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "string":
            return "-" * schema.get("minLength", 0)
        case "boolean":
            return False
        case _:
            return None


def _resolved(reference: str, root: dict[str, Any]) -> dict[str, Any]:
    """A local reference (`#/$defs/Name`); anything else accepts everything."""
    node: Any = root
    for part in reference.removeprefix("#/").split("/"):
        node = node.get(part, {}) if isinstance(node, dict) else {}
    return node if isinstance(node, dict) else {}
