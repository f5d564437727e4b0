"""Runs the planner. It never fails a turn: without a plan the main model reads the user's words by itself."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from agent.planner.digest import planner_input
from agent.planner.plan import SCHEMA_NAME, TurnPlan, plan_schema, read_plan
from agent.session_constraints.constraints import SessionConstraints
from common.clock import Clock
from common.logs import get_logger
from common.memory_api.sessions import LogEntry
from model_client.answers import ModelAnswer, assistant_payload
from model_client.errors import ModelError
from model_client.exact_json import exact_json, well_formed
from model_client.measured import StreamingModel
from model_client.requests import ModelRequest
from model_client.whole_answer import whole_answer

_log = get_logger(__name__)

_REPAIR = (
    "<repair_request>\n上面的输出不能用：{problem}。\n"
    "只输出一个符合 turn_plan 的 JSON 对象，不要代码围栏，不要解释。\n</repair_request>"
)


@dataclass(frozen=True)
class Planning:
    """The plan, where there is one, and every answer that was paid for on the way."""

    plan: TurnPlan | None
    answers: tuple[ModelAnswer, ...]


class Planner:
    """`time_limit` is seconds for the whole, the repair included."""

    def __init__(self, model: StreamingModel, model_name: str, clock: Clock, *, time_limit: float) -> None:
        self._model = model
        self.model_name = model_name
        self._clock = clock
        self._time_limit = time_limit
        self._instructions = exact_json({"role": "system", "content": planner_instructions()})
        schema = {"name": SCHEMA_NAME, "strict": True, "schema": plan_schema()}
        self._options = {"response_format": {"type": "json_schema", "json_schema": schema}}

    async def plan(
        self, text: str, earlier: Sequence[LogEntry], constraints: SessionConstraints, *, give_up_at: float
    ) -> Planning:
        """The plan of a turn with these words; `earlier` are the log entries of the turns before it, `constraints` is
        P_t as they left it."""
        answers: list[ModelAnswer] = []
        content = well_formed(planner_input(text, earlier, constraints))
        request = ModelRequest(
            model=self.model_name,
            messages=(self._instructions, exact_json({"role": "user", "content": content})),
            options=self._options,
            thinking=False,  # some providers refuse a format while they think
            cache_key="planner",
        )
        end_at = min(give_up_at, self._clock.monotonic() + self._time_limit)
        try:
            async with asyncio.timeout(max(0.0, end_at - self._clock.monotonic())) as limit:
                plan = await self._ask_twice(request, answers, end_at)
        except ModelError as error:
            _log.warning("planner.failed", error=error)
            plan = None
        except TimeoutError:
            if not limit.expired():
                raise
            _log.warning("planner.failed", error="too slow")
            plan = None
        return Planning(plan, tuple(answers))

    async def _ask_twice(self, request: ModelRequest, answers: list[ModelAnswer], end_at: float) -> TurnPlan | None:
        answers.append(await whole_answer(self._model, request, give_up_at=end_at))
        try:
            return read_plan(answers[-1].text)
        except ValueError as problem:
            _log.warning("planner.malformed", problem=str(problem))
            repaired = replace(request, messages=(*request.messages, *_repair(answers[-1].text, str(problem))))
        answers.append(await whole_answer(self._model, repaired, give_up_at=end_at))
        try:
            return read_plan(answers[-1].text)
        except ValueError as problem:
            _log.warning("planner.malformed_again", problem=str(problem))
            return None


def _repair(malformed: str, problem: str) -> tuple[str, str]:
    asked = _REPAIR.format(problem=problem)
    return assistant_payload(malformed, ()), exact_json({"role": "user", "content": asked})


def planner_instructions() -> str:
    """The static part, first in every request: all users and sessions share its cached prefix."""
    return files("agent.planner").joinpath("instructions.md").read_text(encoding="utf-8")
