"""The internal API: every operation of the contract bound to its use case.

A use case gets the caller's transaction; it is committed when the use case returns. One that must commit *and* say
no (a discarded curation) returns its ProblemError instead of raising it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import Request, Response
from pydantic import ValidationError
from redis.asyncio import Redis
from starlette.routing import Match, Route
from starlette.types import Scope

from common.clock import Clock
from common.crash_points import CrashPoint, CrashPoints
from common.logs import get_logger
from common.memory_api import operations as op
from common.memory_api.operations import Operation
from common.problems import ProblemCode, ProblemError
from memory.authentication import ServiceTokens
from memory.curation.claim import claim_curation, fail_curation
from memory.curation.ingest import ingest
from memory.database.connection import DatabaseError
from memory.database.transactions import Database
from memory.dispatch.invariants import check_invariants
from memory.dispatch.operating import discard_work, list_work, redrive_work, show_work
from memory.encryption.keys import UnknownKey
from memory.facts.candidates import accept_candidate, list_candidates, refuse_candidate
from memory.facts.clearing import clear_and_forget
from memory.facts.edits import delete_fact, put_fact, restore_fact
from memory.facts.history import fact_history, get_fact
from memory.facts.importing import import_facts
from memory.facts.listing import list_facts
from memory.facts.reading import read_facts_for_turn, recall
from memory.facts.saving import save_fact
from memory.orders.listing import get_order, list_orders
from memory.orders.proposing import propose_order
from memory.orders.settling import cancel_order, confirm_order
from memory.personal_data.erasing import erase_user
from memory.personal_data.exporting import export_data
from memory.replay.jobs import cancel_replay, list_replays, show_replay, start_replay
from memory.sessions.closing import finish_closing
from memory.sessions.sessions import create_session, end_session, get_session, list_sessions
from memory.skills.personal_skills import create_skill, delete_skill, list_skills, read_skill
from memory.turns.accept import accept_turn
from memory.turns.cancel import cancel_turn
from memory.turns.claim import claim_turn, release_turn, renew_lease
from memory.turns.model_calls import session_usage
from memory.turns.steps import append_step, finish_turn
from memory.turns.view import get_turn, session_turns
from memory.user_data.favourites import add_favourite, list_favourites, remove_favourite
from memory.user_data.settings import get_settings, put_settings

_log = get_logger(__name__)

UseCase = Callable[..., Awaitable[Any]]

_IN_USER_TRANSACTION: Mapping[Operation[Any, Any], UseCase] = {
    op.CREATE_SESSION: create_session,
    op.GET_SESSION: get_session,
    op.LIST_SESSIONS: list_sessions,
    op.END_SESSION: end_session,
    op.SESSION_TURNS: session_turns,
    op.SESSION_USAGE: session_usage,
    op.ACCEPT_TURN: accept_turn,
    op.GET_TURN: get_turn,
    op.CANCEL_TURN: cancel_turn,
    op.CLAIM_TURN: claim_turn,
    op.RENEW_LEASE: renew_lease,
    op.APPEND_STEP: append_step,
    op.FINISH_TURN: finish_turn,
    op.RELEASE_TURN: release_turn,
    op.SAVE_FACT: save_fact,
    op.RECALL: recall,
    op.LIST_FACTS: list_facts,
    op.GET_FACT: get_fact,
    op.PUT_FACT: put_fact,
    op.DELETE_FACT: delete_fact,
    op.FACT_HISTORY: fact_history,
    op.RESTORE_FACT: restore_fact,
    op.IMPORT_FACTS: import_facts,
    op.EXPORT_DATA: export_data,
    op.LIST_CANDIDATES: list_candidates,
    op.ACCEPT_CANDIDATE: accept_candidate,
    op.REFUSE_CANDIDATE: refuse_candidate,
    op.CLAIM_CURATION: claim_curation,
    op.INGEST: ingest,
    op.FAIL_CURATION: fail_curation,
    op.FINISH_CLOSING: finish_closing,
    op.GET_SETTINGS: get_settings,
    op.PUT_SETTINGS: put_settings,
    op.LIST_FAVOURITES: list_favourites,
    op.ADD_FAVOURITE: add_favourite,
    op.REMOVE_FAVOURITE: remove_favourite,
    op.PROPOSE_ORDER: propose_order,
    op.LIST_ORDERS: list_orders,
    op.GET_ORDER: get_order,
    op.CONFIRM_ORDER: confirm_order,
    op.CANCEL_ORDER: cancel_order,
    op.LIST_SKILLS: list_skills,
    op.CREATE_SKILL: create_skill,
    op.DELETE_SKILL: delete_skill,
    op.READ_SKILL: read_skill,
}

_ON_DATABASE_AND_REDIS: Mapping[Operation[Any, Any], UseCase] = {
    op.CLEAR_MEMORY: clear_and_forget,
    op.ERASE_USER: erase_user,
}

_ON_DATABASE: Mapping[Operation[Any, Any], UseCase] = {
    op.LIST_WORK: list_work,
    op.SHOW_WORK: show_work,
    op.REDRIVE_WORK: redrive_work,
    op.DISCARD_WORK: discard_work,
    op.CHECK_INVARIANTS: check_invariants,
    op.START_REPLAY: start_replay,
    op.SHOW_REPLAY: show_replay,
    op.LIST_REPLAYS: list_replays,
    op.CANCEL_REPLAY: cancel_replay,
}

_CRASH_AFTER_COMMIT: Mapping[Operation[Any, Any], CrashPoint] = {
    op.ACCEPT_TURN: CrashPoint.MEMORY_ACCEPT_COMMITTED,
    op.FINISH_TURN: CrashPoint.MEMORY_FINISH_COMMITTED,
    op.INGEST: CrashPoint.MEMORY_INGEST_COMMITTED,
}


class InternalApi:
    def __init__(
        self, database: Database, redis: Redis, tokens: ServiceTokens, clock: Clock, crash_points: CrashPoints
    ) -> None:
        self._database = database
        self._redis = redis
        self._tokens = tokens
        self._clock = clock
        self._crash_points = crash_points

    def routes(self) -> list[Route]:
        return [_OperationRoute(operation, self._endpoint(operation)) for operation in op.all_operations()]

    def _endpoint(self, operation: Operation[Any, Any]) -> Callable[[Request], Awaitable[Response]]:
        use_case = self._use_case(operation)

        async def endpoint(request: Request) -> Response:
            self._tokens.admit(operation, request.headers.get("Authorization"))
            asked = _parse(operation, await request.body())
            try:
                answer = await _with_keys_as_they_are_now(use_case, asked)
            except UnknownKey as error:
                raise _unavailable(operation, error) from error
            except DatabaseError as error:
                raise _translated(operation, error) from error
            except (ConnectionError, TimeoutError) as error:
                raise _unavailable(operation, error) from error
            if operation in _CRASH_AFTER_COMMIT:
                self._crash_points.reach(_CRASH_AFTER_COMMIT[operation])
            if isinstance(answer, ProblemError):
                raise answer
            return Response(answer.model_dump_json(), media_type="application/json")

        return endpoint

    def _use_case(self, operation: Operation[Any, Any]) -> Callable[[Any], Awaitable[Any]]:
        if operation is op.READ_FACTS:
            return lambda request: read_facts_for_turn(self._database, self._clock, request)
        if operation in _ON_DATABASE_AND_REDIS:
            with_redis = _ON_DATABASE_AND_REDIS[operation]
            return lambda request: with_redis(self._database, self._redis, request)
        if operation in _ON_DATABASE:
            on_database = _ON_DATABASE[operation]
            return lambda request: on_database(self._database, request)
        in_transaction = _IN_USER_TRANSACTION[operation]

        async def run(request: Any) -> Any:
            async with self._database.of_user(request.owner) as tx:
                return await in_transaction(tx, request)

        return run


class _OperationRoute(Route):
    """A route without patterns and dependencies, which FastAPI's have: a turn asks for fourteen operations."""

    def __init__(self, operation: Operation[Any, Any], endpoint: Callable[[Request], Awaitable[Response]]) -> None:
        super().__init__(operation.url_path, endpoint, methods=["POST"], name=operation.path)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or scope["path"] != self.path:
            return Match.NONE, {}
        match = Match.FULL if scope["method"] == "POST" else Match.PARTIAL
        return match, {"endpoint": self.endpoint, "route": self}


async def _with_keys_as_they_are_now(use_case: Callable[[Any], Awaitable[Any]], asked: Any) -> Any:
    """Another replica may have changed the user's keys since this one last looked; nothing was committed then."""
    try:
        return await use_case(asked)
    except UnknownKey:
        return await use_case(asked)


def _parse(operation: Operation[Any, Any], body: bytes) -> Any:
    try:
        return operation.request.model_validate_json(body)
    except ValidationError as error:
        where = [{"at": [str(part) for part in item["loc"]], "why": item["type"]} for item in error.errors()]
        raise ProblemError(ProblemCode.INVALID_REQUEST, errors=where) from None


def _unavailable(operation: Operation[Any, Any], error: Exception) -> ProblemError:
    _log.warning("database.unavailable", operation=operation.path, error=error)
    return ProblemError(ProblemCode.UNAVAILABLE, retry_after=1)


def _translated(operation: Operation[Any, Any], error: DatabaseError) -> Exception:
    return _unavailable(operation, error) if error.retryable else error
