"""The table of operations: path, request, response and who may call.

The server registers a handler for each, the client calls by it, a contract test compares both.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from common.memory_api import (
    curation,
    dispatch,
    facts,
    orders,
    personal_data,
    replay,
    sessions,
    skills,
    turns,
    usage,
    user_data,
)
from common.memory_api.base import Done, Message, OwnedRequest, TurnRequest

Request = TypeVar("Request", bound=Message)
Response = TypeVar("Response", bound=Message)

PREFIX = "/internal/v1"


class Service(StrEnum):
    """Who calls. Each has a token of its own."""

    GATEWAY = "gateway"
    AGENT = "agent"
    CURATOR = "curator"
    OPERATOR = "operator"


@dataclass(frozen=True)
class Operation(Generic[Request, Response]):
    path: str
    request: type[Request]
    response: type[Response]
    callers: frozenset[Service]

    @property
    def url_path(self) -> str:
        return f"{PREFIX}/{self.path}"


_registry: dict[str, Operation[Any, Any]] = {}


def _operation(
    path: str, request: type[Request], response: type[Response], *callers: Service
) -> Operation[Request, Response]:
    operation = Operation(path, request, response, frozenset({*callers, Service.OPERATOR}))
    assert path not in _registry, path
    _registry[path] = operation
    return operation


def all_operations() -> tuple[Operation[Any, Any], ...]:
    return tuple(_registry.values())


_G, _A, _C = Service.GATEWAY, Service.AGENT, Service.CURATOR

CREATE_SESSION = _operation("sessions/create", sessions.CreateSession, sessions.Session, _G)
GET_SESSION = _operation("sessions/get", sessions.SessionRequest, sessions.Session, _G)
LIST_SESSIONS = _operation("sessions/list", sessions.ListSessions, sessions.Sessions, _G)
END_SESSION = _operation("sessions/end", sessions.SessionRequest, sessions.Session, _G)
SESSION_TURNS = _operation("sessions/turns", sessions.SessionRequest, turns.Turns, _G)
SESSION_USAGE = _operation("sessions/usage", sessions.SessionRequest, usage.Usage, _G)

ACCEPT_TURN = _operation("turns/accept", turns.AcceptTurn, turns.AcceptedTurn, _G)
GET_TURN = _operation("turns/get", TurnRequest, turns.TurnView, _G)
CANCEL_TURN = _operation("turns/cancel", TurnRequest, turns.TurnView, _G)
CLAIM_TURN = _operation("turns/claim", turns.ClaimTurn, turns.ClaimedTurn, _A)
RENEW_LEASE = _operation("turns/renew", turns.RenewLease, turns.Lease, _A)
APPEND_STEP = _operation("turns/append-step", turns.AppendStep, turns.Head, _A)
FINISH_TURN = _operation("turns/finish", turns.FinishTurn, turns.TurnReference, _A)
RELEASE_TURN = _operation("turns/release", turns.ReleaseTurn, Done, _A)

READ_FACTS = _operation("facts/read", facts.ReadFacts, facts.TurnFacts, _A)
SAVE_FACT = _operation("facts/save", facts.SaveFact, facts.FactOutcome, _A)
RECALL = _operation("facts/recall", facts.Recall, facts.Recalled, _A)

LIST_FACTS = _operation("preferences/list", facts.ListFacts, facts.FactPage, _G)
GET_FACT = _operation("preferences/get", facts.FactKeyRequest, facts.FactDetail, _G)
PUT_FACT = _operation("preferences/put", facts.PutFact, facts.Fact, _G)
DELETE_FACT = _operation("preferences/delete", facts.FactEditRequest, Done, _G)
FACT_HISTORY = _operation("preferences/history", facts.FactKeyRequest, facts.History, _G)
RESTORE_FACT = _operation("preferences/restore", facts.RestoreFact, facts.Fact, _G)
IMPORT_FACTS = _operation("preferences/import", facts.ImportFacts, facts.Imported, _G)
CLEAR_MEMORY = _operation("preferences/clear", facts.ClearMemory, facts.Cleared, _G)
LIST_CANDIDATES = _operation("candidates/list", OwnedRequest, facts.Candidates, _G)
ACCEPT_CANDIDATE = _operation("candidates/accept", facts.CandidateRequest, facts.Fact, _G)
REFUSE_CANDIDATE = _operation("candidates/refuse", facts.CandidateRequest, Done, _G)

CLAIM_CURATION = _operation("curations/claim", curation.ClaimCuration, curation.CurationInput, _C)
INGEST = _operation("curations/ingest", curation.Ingest, curation.Ingested, _C)
FAIL_CURATION = _operation("curations/fail", curation.FailCuration, Done, _C)
FINISH_CLOSING = _operation("closings/finish", sessions.FinishClosing, Done, _C)

GET_SETTINGS = _operation("settings/get", OwnedRequest, user_data.UserSettings, _G)
PUT_SETTINGS = _operation("settings/put", user_data.PutSettings, user_data.UserSettings, _G)
LIST_FAVOURITES = _operation("favourites/list", OwnedRequest, user_data.Favourites, _G)
ADD_FAVOURITE = _operation("favourites/add", user_data.ItemId, user_data.Favourites, _G)
REMOVE_FAVOURITE = _operation("favourites/remove", user_data.ItemId, user_data.Favourites, _G)

PROPOSE_ORDER = _operation("orders/propose", orders.ProposeOrder, orders.ProposedCard, _A)
LIST_ORDERS = _operation("orders/list", orders.ListOrders, orders.Orders, _G, _A)
GET_ORDER = _operation("orders/get", orders.OrderRequest, orders.OrderCard, _G, _A)
CONFIRM_ORDER = _operation("orders/confirm", orders.OrderRequest, orders.OrderCard, _G)
CANCEL_ORDER = _operation("orders/cancel", orders.OrderRequest, orders.OrderCard, _G)
LIST_SKILLS = _operation("skills/list", OwnedRequest, skills.PersonalSkills, _G)
CREATE_SKILL = _operation("skills/create", skills.CreateSkill, skills.PersonalSkill, _G)
DELETE_SKILL = _operation("skills/delete", skills.SkillRequest, Done, _G)
READ_SKILL = _operation("skills/read", skills.ReadSkill, skills.PersonalSkill, _A)

EXPORT_DATA = _operation("personal-data/export", personal_data.ExportData, personal_data.ExportedPage, _G)
ERASE_USER = _operation("personal-data/erase", personal_data.EraseUser, personal_data.Erased, _G)

LIST_WORK = _operation("dispatch/list", dispatch.ListWork, dispatch.WorkRecords)
SHOW_WORK = _operation("dispatch/show", dispatch.WorkId, dispatch.WorkRecord)
REDRIVE_WORK = _operation("dispatch/redrive", dispatch.WorkId, dispatch.WorkRecord)
DISCARD_WORK = _operation("dispatch/discard", dispatch.WorkId, dispatch.WorkRecord)
CHECK_INVARIANTS = _operation("dispatch/invariants", dispatch.CheckInvariants, dispatch.InvariantReport)

START_REPLAY = _operation("replay/start", replay.StartReplay, replay.ReplayJob)
SHOW_REPLAY = _operation("replay/show", replay.ShowReplay, replay.ReplayReport)
LIST_REPLAYS = _operation("replay/list", replay.ListReplays, replay.Replays)
CANCEL_REPLAY = _operation("replay/cancel", replay.CancelReplay, replay.ReplayJob)
