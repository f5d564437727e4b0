"""Agents and curators that may stop anywhere, for good or to go on much later with what they knew."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.integration.memory.turn_life.vocabulary import Claimed, Entry, LogLine, Saying, Shape, WorkName

from common.crash_points import CrashPoint
from common.memory_api.dispatch import WorkKind

AGENT_STEPS: Mapping[CrashPoint, int] = {
    CrashPoint.AGENT_CLAIMED: 0,
    CrashPoint.AGENT_MODEL_ANSWERED: 0,
    CrashPoint.AGENT_STEP_STORED: 1,
    CrashPoint.AGENT_TOOL_EFFECT_DONE: 2,
    CrashPoint.AGENT_RESULTS_STORED: 3,
    CrashPoint.AGENT_BEFORE_FINISH: 3,
    CrashPoint.AGENT_FINISHED: 4,
    CrashPoint.AGENT_PUBLISHED: 5,
}
"""Steps after the claim that an agent has taken when it dies there."""

CURATOR_STEPS: Mapping[CrashPoint, int] = {
    CrashPoint.CURATOR_CLAIMED: 0,
    CrashPoint.CURATOR_MODEL_ANSWERED: 0,
    CrashPoint.CURATOR_INGESTED: 1,
}

ANSWERS_LOST = frozenset(
    {
        CrashPoint.MEMORY_ACCEPT_COMMITTED,
        CrashPoint.MEMORY_FINISH_COMMITTED,
        CrashPoint.MEMORY_INGEST_COMMITTED,
    }
)
"""Memory dies after a commit: its caller learns nothing and asks again. Here any answer may be lost."""

ELSEWHERE = frozenset({CrashPoint.GATEWAY_ACCEPTED, CrashPoint.MEMORY_SWEEP_MARKED, CrashPoint.MEMORY_REPLAY_BEGUN})
"""Nothing is published after a turn was accepted; a beat of the sweeper or of the replayer is cut off."""


@dataclass
class Agent:
    """Goes on from the last stored step, whoever stored it."""

    user: str
    turn: str
    token: str
    saying: Saying | None
    """What its model calls `save_memory` with, if it does."""
    head: int
    last: Shape | None
    """The turn's last entry."""
    calls: int
    saved: bool = False
    """Since the call was stored, by this agent."""

    @classmethod
    def that_claimed(cls, user: str, turn: str, token: str, saying: Saying | None, claimed: Claimed) -> "Agent":
        mine = [line.shape for line in claimed.log if line.turn == turn]
        return cls(user, turn, token, saying, claimed.head, mine[-1] if mine else None, mine.count(Shape.CALL))

    @property
    def work(self) -> WorkName:
        return WorkName(WorkKind.TURN, self.turn)

    @property
    def call(self) -> str:
        """Ids of calls are the model's; here they count."""
        return f"call-{self.calls}"

    def next_entries(self) -> list[Entry]:
        """What comes after the last entry; names differ from those of other agents."""
        name = f"{self.token}-{self.head}"
        match self.last:
            case Shape.CALL:
                return [Entry(name, Shape.RESULT, self.call)]
            case Shape.RESULT:
                return [Entry(name, Shape.ANSWER)]
            case _:
                return [Entry(f"{name}-memory", Shape.MEMORY), Entry(name, Shape.CALL, f"call-{self.calls + 1}")]

    def appended(self, entries: list[Entry], head: int) -> None:
        self.head, self.last, self.saved = head, entries[-1].shape, False
        self.calls += self.last is Shape.CALL


@dataclass
class Curator:
    user: str
    turn: str
    run: int
    token: str
    saying: Saying

    @property
    def work(self) -> WorkName:
        return WorkName(WorkKind.CURATE_TURN, self.turn, self.run)


@dataclass(frozen=True)
class Delivered:
    """An event as a consumer has it; it may come any number of times."""

    user: str
    work: WorkName


def calls_without_one_result(log: tuple[LogLine, ...], turn: str) -> int:
    shapes = [line.shape for line in log if line.turn == turn]
    return abs(shapes.count(Shape.CALL) - shapes.count(Shape.RESULT))
