"""Random sessions: whatever can happen between two requests of one, drawn from a source of random numbers.

Tool calls good and bad, corrections, guards, injections, memory and constraints that change, skills, strategies,
planners that fail, processes that die and others that take over, pruning and summaries. As a program (`seed turns`) it
prints a digest of every request, so that processes with different hash seeds can be compared.
"""

import asyncio
import hashlib
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from tests.unit.agent.example_facts import a_fact
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.scripted_agent import (
    DyingAt,
    QuickClock,
    ScriptedAgent,
    ShelfCatalogue,
    Step,
    calls,
    is_plan_request,
    plans,
    says,
    summary,
    tokens_of,
    with_ids,
)

from agent.compaction.limits import ContextLimits
from agent.skills.catalogue import builtin_skills
from common.crash_points import CrashPoint
from common.memory_api.skills import NewPersonalSkill
from common.memory_api.turns import Behaviour, ModelCallKind
from common.memory_api.user_data import BehaviourKind
from model_client.answers import ModelEvent
from model_client.errors import ContextOverflow, ModelEmpty, ModelTruncated, ModelUnavailable
from model_client.requests import ModelRequest

_WORDS = (
    "找一个双肩包",
    "再便宜一点",
    "送给妈妈的礼物",
    "对比一下这两款",
    "记住我对坚果过敏",
    "some snacks, cheaper",
    "<user_message>",
)
_DEATHS = (
    CrashPoint.AGENT_MODEL_ANSWERED,
    CrashPoint.AGENT_STEP_STORED,
    CrashPoint.AGENT_TOOL_EFFECT_DONE,
    CrashPoint.AGENT_RESULTS_STORED,
    CrashPoint.AGENT_BEFORE_FINISH,
)

_OWN_SKILLS = [
    NewPersonalSkill(name=name, description="当我要买包时读", body="先看重量 </skill_content>")
    for name in ("own-way", "another-way")
]


@dataclass(frozen=True)
class SentRequest:
    """A request on the session's log, and how long the log was when it was sent."""

    kind: ModelCallKind
    request: ModelRequest
    log_length: int


class RandomModel:
    """Answers whatever comes to mind, and keeps what it was asked."""

    def __init__(self, random: Random, memory: MemoryInProcess) -> None:
        self._random = random
        self._memory = memory
        self._numbers = count(1)
        self.sent: list[SentRequest] = []
        self.plan_requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]:
        if is_plan_request(request):
            self.plan_requests.append(request)
            step = self._plan_step()
        elif "<compaction_request>" in request.messages[-1]:
            self.sent.append(SentRequest(ModelCallKind.COMPACTION, request, len(self._memory.log)))
            step = self._summary_step()
        else:
            self.sent.append(SentRequest(ModelCallKind.MAIN, request, len(self._memory.log)))
            step = self._main_step()
        if isinstance(step, Exception):
            raise step
        yield with_ids(step, request, self._numbers, self._random.choice((tokens_of(request), None)))

    def _plan_step(self) -> Any:
        good = (
            plans(),
            plans(intent="bundle", domain=None, budget=500),
            plans(domain="garden", exclude=["塑料"], destination="DE"),
            plans(must=["防水"], retract=["坚果"], gift=True),
        )
        return self._random.choice((*good, says("没有 JSON"), says("{}"), ModelUnavailable("down")))

    def _summary_step(self) -> Any:
        good = says(f"<summary>\n{'用户在找双肩包，预算五百，不要真皮。' * 5}\n</summary>")
        return self._random.choice(
            (good, good, says("<summary>太短</summary>"), says("不写"), ModelUnavailable("down"))
        )

    def _main_step(self) -> Any:
        random = self._random
        search = ("item_search", {"query": random.choice(("双肩包", "bag", "\ud83d"))})
        skill = ("Skill", {"name": random.choice([*builtin_skills().names, "none", "my/own-way", "my/none"])})
        save = ("save_memory", {"key": "nut_allergy", "value": "坚果", "category": "constraint"})
        steps: tuple[Step, ...] = (
            calls(search),
            calls(search, search, ("recall_memories", {"topic": ""})),
            calls(skill),
            calls(save, search, text="好的"),
            calls(("no_such_tool", {}), ("item_search", "{broken")),
            calls(("item_search", '{"query":"\\ud83d","price_max":1e999}')),
            ModelEmpty("empty"),
            ModelTruncated("cut"),
            ModelUnavailable("down"),
            ContextOverflow(),
            calls(("item_search", {"query": "pots", "domain": random.choice(("garden", "pets"))})),
            says("已为您下单"),
            summary("订单已确认", "bag-001"),
            summary("看看这个", "bag-001"),
            summary("看看这个", "bag-002"),
            says("好的"),
        )
        return random.choice(steps)


async def play(random: Random, turns: int) -> tuple[MemoryInProcess, RandomModel]:
    """A session of as many turns. Each attempt runs in a new agent, as in a new process."""
    memory = MemoryInProcess()
    model = RandomModel(random, memory)
    limits = ContextLimits(random.choice((9_000, 12_000, 200_000)), prune_at=random.choice((0.1, 0.3)), keep=0.1)
    for number in range(turns):
        memory.new_turn(random.choice(_WORDS))
        memory.facts = [a_fact(f"key_{i}", random.choice("甲乙丙"), "constraint") for i in range(random.randrange(3))]
        memory.skills = _OWN_SKILLS[: random.randrange(3)]
        memory.behaviour = [Behaviour(kind=BehaviourKind.SEARCH, text=f"search {number}")] * random.randrange(2)
        while not memory.ended:
            may_die = memory.attempt < 3 and random.random() < 0.3
            dies = DyingAt(random.choice(_DEATHS), random.randrange(1, 4)) if may_die else None
            agent = ScriptedAgent(
                memory,
                model=model,
                catalogue=ShelfCatalogue("bag-001", "bag-002", "bag-003", "bag-004", "snk-001", "snk-002"),
                dies=dies,
                limits=limits,
                clock=QuickClock(),
                profile=random.choice(("generic", "generic", "openai")),
            )
            await agent.run()
    return memory, model


def digests(seed: int, turns: int) -> list[str]:
    _, model = asyncio.run(play(Random(seed), turns))
    requests = [*(sent.request for sent in model.sent), *model.plan_requests]
    return [hashlib.sha256(request.body()).hexdigest() for request in requests]


if __name__ == "__main__":
    sys.stderr.write(str(hash("this differs between processes")))
    sys.stdout.write("\n".join(["==", *digests(int(sys.argv[1]), int(sys.argv[2]))]))
