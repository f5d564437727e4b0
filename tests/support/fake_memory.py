"""A memory service without a database, over real HTTP: what the gateway asks for, by the table of operations.

It keeps the contract and the ownership of rows, not the rules behind them. Tests set the state of a turn as the
real service would leave it, and may take the service down.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from common.ids import new_id
from common.memory_api import operations
from common.memory_api.base import Done, Message, OwnedRequest, Owner, TurnRequest
from common.memory_api.facts import (
    Candidate,
    CandidateRequest,
    Candidates,
    Cleared,
    Fact,
    FactAction,
    FactDetail,
    FactEditRequest,
    FactKeyRequest,
    FactOutcome,
    FactPage,
    FactSource,
    FactVersion,
    History,
    Imported,
    ImportFacts,
    ListFacts,
    MemoryCategory,
    Precondition,
    PutFact,
    RestoreFact,
)
from common.memory_api.operations import PREFIX, Operation
from common.memory_api.personal_data import Erased, EraseUser, ExportData, ExportedFact, ExportedPage, ExportedTurn
from common.memory_api.sessions import CreateSession, ListSessions, Session, SessionRequest, Sessions
from common.memory_api.skills import CreateSkill, PersonalSkill, PersonalSkills, SkillRequest
from common.memory_api.turns import (
    AcceptedTurn,
    AcceptTurn,
    CurationState,
    FailureCode,
    TurnReference,
    Turns,
    TurnStatus,
    TurnView,
)
from common.memory_api.usage import Usage
from common.memory_api.user_data import Favourites, ItemId, PutSettings, UserSettings
from common.problems import Problem, ProblemCode, ProblemError
from common.usage_rates import usage_of
from common.web import install_problem_handlers, problem_response

SERVICE_TOKEN = "gateway-service-token"

Handler = Callable[[Any], Message]
Row = TypeVar("Row")


class FakeMemory:
    def __init__(self) -> None:
        self.down = False
        self.tokens_used_up_for: int | None = None
        """Seconds until the day ends; None: there are tokens left."""
        self.open = asyncio.Event()
        """While it is not set, requests wait."""
        self.open.set()
        self.calls: list[str] = []
        """Paths of the operations that were asked for, in order."""
        self.problem: Problem | None = None
        """When set, the answer to everything."""
        self._sessions: dict[UUID, tuple[Owner, Session]] = {}
        self._turns: dict[UUID, tuple[Owner, TurnView]] = {}
        self._keys: dict[tuple[Owner, UUID, str], tuple[UUID, str]] = {}
        self._facts: dict[tuple[Owner, str], Fact] = {}
        self._versions: dict[UUID, tuple[Owner, FactVersion]] = {}
        self._candidates: dict[UUID, tuple[Owner, Candidate]] = {}
        self._settings: dict[Owner, UserSettings] = {}
        self._favourites: dict[Owner, list[str]] = {}
        self._skills: dict[tuple[Owner, str], PersonalSkill] = {}
        self._seq = 0
        self._handlers: dict[str, Handler] = {operation.path: handler for operation, handler in self._table()}

    def app(self) -> FastAPI:
        app = FastAPI()
        install_problem_handlers(app)

        @app.get("/readyz")
        async def ready() -> Response:
            return Response(status_code=503 if self.down else 200)

        @app.post(PREFIX + "/{path:path}")
        async def call(path: str, request: Request) -> Response:
            body = await request.body()
            await self.open.wait()
            return self._answer(path, request.headers.get("Authorization"), body)

        return app

    # What tests set up.

    def add_candidate(self, owner: Owner) -> Candidate:
        candidate = Candidate(
            candidate_id=new_id(),
            key="favourite_colour",
            value="蓝色",
            category=MemoryCategory.PREFERENCE,
            turn_id=new_id(),
            created_at=_now(),
        )
        self._candidates[candidate.candidate_id] = owner, candidate
        return candidate

    def add_turn(self, owner: Owner, **state: Any) -> TurnView:
        """A turn in a session of its own, in the given state."""
        session = self._create_session(CreateSession(owner=owner))
        request = AcceptTurn(
            owner=owner, session_id=session.session_id, idempotency_key=str(new_id()), text="找一个双肩包"
        )
        turn_id = self._accept(request).turn.turn_id
        return self.change_turn(turn_id, **state)

    def change_turn(self, turn_id: UUID, **state: Any) -> TurnView:
        owner, view = self._turns[turn_id]
        changed = TurnView.model_validate({**view.model_dump(), **state})
        self._turns[turn_id] = owner, changed
        return changed

    # HTTP.

    def _answer(self, path: str, authorization: str | None, body: bytes) -> Response:
        operation = {known.path: known for known in operations.all_operations()}[path]
        self.calls.append(path)
        if self.down:
            return Response(status_code=503)
        if self.problem is not None:
            return problem_response(self.problem)
        if authorization != f"Bearer {SERVICE_TOKEN}" or operations.Service.GATEWAY not in operation.callers:
            raise ProblemError(ProblemCode.FORBIDDEN)
        answer = self._handlers[path](operation.request.model_validate_json(body))
        assert isinstance(answer, operation.response), path
        return JSONResponse(answer.model_dump(mode="json"))

    def _table(self) -> list[tuple[Operation[Any, Any], Handler]]:
        return [
            (operations.CREATE_SESSION, self._create_session),
            (operations.GET_SESSION, self._session),
            (operations.LIST_SESSIONS, self._list_sessions),
            (operations.END_SESSION, self._end_session),
            (operations.SESSION_TURNS, self._session_turns),
            (operations.SESSION_USAGE, self._usage),
            (operations.ACCEPT_TURN, self._accept),
            (operations.GET_TURN, self._turn),
            (operations.CANCEL_TURN, self._cancel),
            (operations.LIST_FACTS, self._list_facts),
            (operations.GET_FACT, self._get_fact),
            (operations.PUT_FACT, self._put_fact),
            (operations.DELETE_FACT, self._delete_fact),
            (operations.FACT_HISTORY, self._history),
            (operations.RESTORE_FACT, self._restore),
            (operations.IMPORT_FACTS, self._import),
            (operations.EXPORT_DATA, self._export),
            (operations.ERASE_USER, self._erase),
            (operations.CLEAR_MEMORY, self._clear),
            (operations.LIST_CANDIDATES, self._list_candidates),
            (operations.ACCEPT_CANDIDATE, self._accept_candidate),
            (operations.REFUSE_CANDIDATE, self._refuse_candidate),
            (operations.GET_SETTINGS, self._get_settings),
            (operations.PUT_SETTINGS, self._put_settings),
            (operations.LIST_FAVOURITES, self._list_favourites),
            (operations.ADD_FAVOURITE, self._add_favourite),
            (operations.REMOVE_FAVOURITE, self._remove_favourite),
            (operations.LIST_SKILLS, self._list_skills),
            (operations.CREATE_SKILL, self._create_skill),
            (operations.DELETE_SKILL, self._delete_skill),
        ]

    # Sessions and turns.

    def _create_session(self, request: CreateSession) -> Session:
        session = Session(
            session_id=new_id(),
            state="open",
            created_at=_now(),
            last_activity_at=_now(),
            ended_at=None,
            end_reason=None,
            turns=0,
            open_turn_id=None,
        )
        self._sessions[session.session_id] = request.owner, session
        return session

    def _session(self, request: SessionRequest) -> Session:
        return _owned(self._sessions, request.session_id, request.owner)

    def _list_sessions(self, request: ListSessions) -> Sessions:
        own = [session for owner, session in self._sessions.values() if owner == request.owner]
        return Sessions(sessions=own[-request.limit :])

    def _end_session(self, request: SessionRequest) -> Session:
        ended = self._session(request).model_copy(update={"state": "ended", "ended_at": _now()})
        self._sessions[request.session_id] = request.owner, ended
        return ended

    def _session_turns(self, request: SessionRequest) -> Turns:
        self._session(request)
        return Turns(turns=[view for _, view in self._turns.values() if view.session_id == request.session_id])

    def _usage(self, request: SessionRequest) -> Usage:
        self._session(request)
        return usage_of([])

    def _accept(self, request: AcceptTurn) -> AcceptedTurn:
        session = self._session(SessionRequest(owner=request.owner, session_id=request.session_id))
        key = request.owner, request.session_id, request.idempotency_key
        if key in self._keys:
            turn_id, text = self._keys[key]
            if text != request.text:
                raise ProblemError(ProblemCode.IDEMPOTENCY_CONFLICT)
            return AcceptedTurn(turn=self._reference(turn_id), created=False)
        if session.state == "ended":
            raise ProblemError(ProblemCode.SESSION_ENDED)
        if self.tokens_used_up_for is not None:
            raise ProblemError(ProblemCode.TOKEN_BUDGET, retry_after=self.tokens_used_up_for)
        turns = self._session_turns(SessionRequest(owner=request.owner, session_id=request.session_id)).turns
        if any(turn.status.open for turn in turns):
            raise ProblemError(ProblemCode.TURN_OPEN)
        view = self._new_turn(request)
        self._turns[view.turn_id] = request.owner, view
        self._keys[key] = view.turn_id, request.text
        return AcceptedTurn(turn=self._reference(view.turn_id), created=True)

    def _new_turn(self, request: AcceptTurn) -> TurnView:
        self._seq += 1
        return TurnView(
            turn_id=new_id(),
            session_id=request.session_id,
            seq=self._seq,
            status=TurnStatus.ACCEPTED,
            attempt=0,
            text=request.text,
            steps=[],
            reply=None,
            items=[],
            failure=None,
            curation=CurationState.NONE,
            memory=[],
            created_at=_now(),
            finished_at=None,
        )

    def _reference(self, turn_id: UUID) -> TurnReference:
        _, view = self._turns[turn_id]
        return TurnReference(
            turn_id=turn_id,
            session_id=view.session_id,
            seq=view.seq,
            purge_generation=0,
            status=view.status,
        )

    def _turn(self, request: TurnRequest) -> TurnView:
        return _owned(self._turns, request.turn_id, request.owner)

    def _cancel(self, request: TurnRequest) -> TurnView:
        view = self._turn(request)
        if not view.status.open:
            return view
        return self.change_turn(
            request.turn_id,
            status=TurnStatus.CANCELLED,
            reply="已取消。",
            failure=FailureCode.CANCELLED_BY_USER,
            curation=CurationState.PENDING,
            finished_at=_now(),
        )

    # Facts.

    def _list_facts(self, request: ListFacts) -> FactPage:
        own = [fact for (owner, _), fact in self._facts.items() if owner == request.owner]
        found = [
            fact
            for fact in own
            if request.category in (None, fact.category)
            and request.source in (None, fact.source)
            and (request.text or "") in fact.key + " " + fact.value
        ]
        start = int(request.cursor or 0)
        end = start + request.limit
        return FactPage(facts=found[start:end], next_cursor=str(end) if end < len(found) else None)

    def _get_fact(self, request: FactKeyRequest) -> FactDetail:
        fact = self._facts.get((request.owner, request.key))
        if fact is None:
            raise ProblemError(ProblemCode.NOT_FOUND)
        versions = self._history(request).versions[::-1]
        return FactDetail(fact=fact, versions=versions, evidence=[], expires_at=None)

    def _put_fact(self, request: PutFact) -> Fact:
        proposed = request.proposed
        if proposed.value.replace(" ", "").isdecimal():
            raise ProblemError(ProblemCode.FACT_REFUSED)
        known = self._facts.get((request.owner, proposed.key))
        self._must_hold(request.precondition, known)
        self._seq += 1
        if known is not None:
            self._keep_version(request.owner, known)
        fact = Fact(
            fact_id=new_id(),
            key=proposed.key,
            value=proposed.value,
            category=MemoryCategory(proposed.category or "preference"),
            source=FactSource.USER,
            seq=self._seq,
            session_id=None,
            turn_id=None,
            evidence=0,
            created_at=_now(),
            updated_at=_now(),
            revision=f"{self._seq}.2.0",
        )
        self._facts[request.owner, proposed.key] = fact
        return fact

    @staticmethod
    def _must_hold(precondition: Precondition, known: Fact | None) -> None:
        wanted = precondition.revision
        if precondition.must_be_new and known is not None:
            raise ProblemError(ProblemCode.PRECONDITION_FAILED)
        if wanted is not None and (known is None or wanted not in ("*", known.revision)):
            raise ProblemError(ProblemCode.PRECONDITION_FAILED)

    def _keep_version(self, owner: Owner, fact: Fact) -> None:
        version = FactVersion(
            version_id=new_id(),
            key=fact.key,
            value=fact.value,
            category=fact.category,
            source=fact.source,
            seq=fact.seq,
            replaced_at=_now(),
        )
        self._versions[version.version_id] = owner, version

    def _delete_fact(self, request: FactEditRequest) -> Done:
        self._must_hold(request.precondition, self._facts.get((request.owner, request.key)))
        if self._facts.pop((request.owner, request.key), None) is None:
            raise ProblemError(ProblemCode.NOT_FOUND)
        return Done()

    def _history(self, request: FactKeyRequest) -> History:
        own = [version for owner, version in self._versions.values() if owner == request.owner]
        return History(versions=[version for version in own if version.key == request.key])

    def _restore(self, request: RestoreFact) -> Fact:
        version = _owned(self._versions, request.version_id, request.owner)
        self._must_hold(request.precondition, self._facts.get((request.owner, version.key)))
        known = self._facts[request.owner, version.key]
        self._seq += 1
        fact = known.model_copy(update={"value": version.value, "revision": f"{self._seq}.2.0"})
        self._facts[request.owner, version.key] = fact
        return fact

    def _import(self, request: ImportFacts) -> Imported:
        outcomes = []
        for proposed in request.proposed:
            try:
                self._put_fact(PutFact(owner=request.owner, proposed=proposed))
                outcomes.append(FactOutcome(key=proposed.key, action=FactAction.ADDED))
            except ProblemError:
                outcomes.append(FactOutcome(key=proposed.key, action=FactAction.REFUSED, rule="identifier-number"))
        return Imported(outcomes=outcomes)

    def _export(self, request: ExportData) -> ExportedPage:
        """Facts on the first page, turns on the second."""
        if request.cursor is None:
            keys = [key for owner, key in self._facts if owner == request.owner]
            details = [self._get_fact(FactKeyRequest(owner=request.owner, key=key)) for key in keys]
            facts = [ExportedFact.model_validate(detail.model_dump()) for detail in details]
            return ExportedPage(records=list(facts), next_cursor="turns:0")
        fields = ExportedTurn.model_fields.keys() - {"type"}
        views = [view for owner, view in self._turns.values() if owner == request.owner]
        turns = [ExportedTurn.model_validate(view.model_dump(include=set(fields))) for view in views]
        return ExportedPage(records=list(turns), next_cursor=None)

    def _erase(self, request: EraseUser) -> Erased:
        facts = self._clear(request).facts
        return Erased(purge_generation=1, rows={"memory_facts": facts})

    def _clear(self, request: OwnedRequest) -> Cleared:
        own = [key for key in self._facts if key[0] == request.owner]
        for key in own:
            del self._facts[key]
        return Cleared(purge_generation=1, facts=len(own), sessions_ended=0, turns_ended=0)

    def _list_candidates(self, request: OwnedRequest) -> Candidates:
        own = [candidate for owner, candidate in self._candidates.values() if owner == request.owner]
        return Candidates(candidates=own)

    def _accept_candidate(self, request: CandidateRequest) -> Fact:
        candidate = _owned(self._candidates, request.candidate_id, request.owner)
        del self._candidates[request.candidate_id]
        proposed = {"key": candidate.key, "value": candidate.value, "category": candidate.category}
        return self._put_fact(PutFact.model_validate({"owner": request.owner, "proposed": proposed}))

    def _refuse_candidate(self, request: CandidateRequest) -> Done:
        _owned(self._candidates, request.candidate_id, request.owner)
        del self._candidates[request.candidate_id]
        return Done()

    # User data.

    def _get_settings(self, request: OwnedRequest) -> UserSettings:
        return self._settings.get(request.owner, UserSettings())

    def _put_settings(self, request: PutSettings) -> UserSettings:
        self._settings[request.owner] = request.settings
        return request.settings

    def _list_favourites(self, request: OwnedRequest) -> Favourites:
        return Favourites(item_ids=self._favourites.get(request.owner, []))

    def _add_favourite(self, request: ItemId) -> Favourites:
        own = self._favourites.setdefault(request.owner, [])
        if request.item_id not in own:
            own.append(request.item_id)
        return Favourites(item_ids=own)

    def _remove_favourite(self, request: ItemId) -> Favourites:
        own = [item for item in self._favourites.get(request.owner, []) if item != request.item_id]
        self._favourites[request.owner] = own
        return Favourites(item_ids=own)

    def _list_skills(self, request: OwnedRequest) -> PersonalSkills:
        own = [skill for (owner, _), skill in self._skills.items() if owner == request.owner]
        return PersonalSkills(skills=sorted(own, key=lambda skill: skill.name))

    def _create_skill(self, request: CreateSkill) -> PersonalSkill:
        key = request.owner, request.skill.name
        if key in self._skills:
            raise ProblemError(ProblemCode.SKILL_EXISTS)
        self._skills[key] = PersonalSkill(**request.skill.model_dump(), created_at=_now())
        return self._skills[key]

    def _delete_skill(self, request: SkillRequest) -> Done:
        if self._skills.pop((request.owner, request.name), None) is None:
            raise ProblemError(ProblemCode.NOT_FOUND)
        return Done()


def _owned(rows: dict[UUID, tuple[Owner, Row]], row_id: UUID, owner: Owner) -> Row:
    """Rows of others do not exist, as under row-level security."""
    found = rows.get(row_id)
    if found is None or found[0] != owner:
        raise ProblemError(ProblemCode.NOT_FOUND)
    return found[1]


def _now() -> datetime:
    return datetime.now(UTC)
