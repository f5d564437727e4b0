"""The plan of a turn: what the planner fills in. A closed list of intents, so that rules can rest on them."""

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from agent.catalogue.countries import country_code
from agent.catalogue.currencies import currency_code
from agent.catalogue.domains import DOMAINS
from agent.context.fences import inside, neutralise
from agent.session_constraints.constraints import SessionConstraints, read_session_constraints
from common.memory_api.sessions import EntryKind, LogEntry
from model_client.exact_json import exact_json, well_formed_json

SCHEMA_NAME = "turn_plan"
INTENTS_VERSION = 1
"""Goes up when the list of intents changes; a stored plan carries the version it was made with."""

_LIST_MAX = 12
_CODE_LENGTH = 2
_MARK = f"<{SCHEMA_NAME}>"


class Intent(StrEnum):
    PRODUCT_SEARCH = "product_search"
    PURCHASE_RESEARCH = "purchase_research"
    BUNDLE = "bundle"
    ORDER_CARE = "order_care"
    MEMORY = "memory"
    IMAGE_SEARCH = "image_search"
    LANDED_PRICE = "landed_price"
    DEVICE_FAULT = "device_fault"
    ACCESSORY = "accessory"
    USAGE_QUESTION = "usage_question"
    CHAT = "chat"


def _blank_is_none(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


def _known_domain(value: object) -> object:
    """A domain that does not exist says nothing; it does not spoil the rest of the plan."""
    return value if value in DOMAINS else None


def _currency(value: object) -> object:
    """Also one that there is no rate for: the budget is in it all the same."""
    value = _blank_is_none(value)
    return (currency_code(value) or value.strip().upper()) if isinstance(value, str) else value


def _country(value: object) -> object:
    """A code that is no country's says nothing: it must not take the place of the session's destination. A city or
    anything else is refused, so that the planner may say which country it means."""
    if not isinstance(value, str):
        return value
    code = country_code(value)
    return value if code is None and len(value.strip()) > _CODE_LENGTH else code


def _words(value: object) -> object:
    """A list of short texts, without blanks and repetitions."""
    if not isinstance(value, list):
        return value
    texts = [" ".join(item.split())[:60] if isinstance(item, str) else item for item in value]
    return list(dict.fromkeys(text for text in texts if text != ""))[:_LIST_MAX]


_Name = Annotated[str | None, BeforeValidator(_blank_is_none)]
_Words = Annotated[list[str], BeforeValidator(_words)]


class TurnPlan(BaseModel):
    """Only what this turn says; earlier turns' words stay out (they are merged elsewhere)."""

    model_config = ConfigDict(frozen=True)

    intent: Intent
    domain: Annotated[str | None, BeforeValidator(_known_domain)] = None
    sub_type: _Name = None
    destination: Annotated[
        Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")] | None, BeforeValidator(_country)
    ] = None
    budget: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    currency: Annotated[Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] | None, BeforeValidator(_currency)] = (
        None
    )
    must: _Words = Field(default_factory=list)
    exclude: _Words = Field(default_factory=list)
    penalty: _Words = Field(default_factory=list)
    retract: _Words = Field(default_factory=list)
    gift: bool = False
    missing: _Words = Field(default_factory=list)


def plan_schema() -> dict[str, Any]:
    """The schema as a provider takes it: every field required, nothing else allowed, what is unknown is null."""
    words = {"type": "array", "items": {"type": "string"}, "maxItems": _LIST_MAX}
    text = {"type": ["string", "null"]}
    properties: dict[str, Any] = {
        "intent": {"type": "string", "enum": [intent.value for intent in Intent]},
        "domain": {"type": ["string", "null"], "enum": [*sorted(DOMAINS), None]},
        "sub_type": text,
        "destination": text,
        "budget": {"type": ["number", "null"]},
        "currency": text,
        "must": words,
        "exclude": words,
        "penalty": words,
        "retract": words,
        "gift": {"type": "boolean"},
        "missing": words,
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_plan(text: str) -> TurnPlan:
    """The plan in an answer, which may stand in a code fence or between words. Raises ValueError that says what is
    wrong, without the words."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise ValueError("there is no JSON object")
    try:
        value = well_formed_json(json.loads(text[start : end + 1]))
    except (ValueError, RecursionError):
        raise ValueError("the JSON is not valid") from None
    try:
        return TurnPlan.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_input=False, include_url=False, include_context=False)[:5]
        places = (f"{'.'.join(str(part) for part in item['loc']) or 'plan'}: {item['msg']}" for item in found)
        raise ValueError("; ".join(places)) from None


def render_plan(plan: TurnPlan, constraints: SessionConstraints) -> str:
    """The plan as the main model reads it, with P_t as the turn leaves it."""
    fields = {
        "version": INTENTS_VERSION,
        **plan.model_dump(mode="json"),
        "session_constraints": constraints.shown(),
    }
    return f"{_MARK}\n{neutralise(exact_json(fields))}\n</{SCHEMA_NAME}>"


def is_plan(entry: LogEntry) -> bool:
    """An answer that is written like one is none: the planner alone writes P_t."""
    if entry.payload.startswith('{"role":"assistant",'):
        return False
    return entry.kind is EntryKind.MESSAGE and f'"content":"{_MARK}\\n' in entry.payload[:80]


def stored_plan(entries: Sequence[LogEntry]) -> TurnPlan | None:
    """The plan among a turn's entries, as it was stored."""
    block = _stored_block(entries)
    if block is None:
        return None
    try:
        return read_plan(block)
    except ValueError:
        return None


def stored_constraints(entries: Sequence[LogEntry]) -> SessionConstraints | None:
    """P_t as the turn's plan shows it; None where the turn has no plan. So every attempt of a turn has the same."""
    block = _stored_block(entries)
    if block is None:
        return None
    try:
        fields = json.loads(block)
    except ValueError:
        return None
    return read_session_constraints(fields.get("session_constraints"))


def _stored_block(entries: Sequence[LogEntry]) -> str | None:
    for entry in entries:
        if is_plan(entry):
            return inside(json.loads(entry.payload)["content"], SCHEMA_NAME)
    return None
