"""The registry of places where a test may kill the process.

A promise about crashes is only worth what was tried: each point below has a test that arms it, lets a real
process die there by SIGKILL, and checks the promise afterwards (`tests/chaos`). In production nothing is armed
and a point costs one attribute read.

Arm with `CRASH_POINT=<name>` and `CRASH_FUSE=<file>`: the process dies at the point if the file exists, and
removes it first, so that the restarted process lives.
"""

import os
import signal
from enum import StrEnum
from pathlib import Path


class CrashPoint(StrEnum):
    AGENT_CLAIMED = "agent.claimed"
    AGENT_MODEL_ANSWERED = "agent.model_answered"
    AGENT_STEP_STORED = "agent.step_stored"
    AGENT_TOOL_EFFECT_DONE = "agent.tool_effect_done"
    AGENT_RESULTS_STORED = "agent.results_stored"
    AGENT_BEFORE_FINISH = "agent.before_finish"
    AGENT_FINISHED = "agent.finished"
    AGENT_PUBLISHED = "agent.published"
    CURATOR_CLAIMED = "curator.claimed"
    CURATOR_MODEL_ANSWERED = "curator.model_answered"
    CURATOR_INGESTED = "curator.ingested"
    GATEWAY_ACCEPTED = "gateway.accepted"
    MEMORY_ACCEPT_COMMITTED = "memory.accept_committed"
    MEMORY_FINISH_COMMITTED = "memory.finish_committed"
    MEMORY_INGEST_COMMITTED = "memory.ingest_committed"
    MEMORY_SWEEP_MARKED = "memory.sweep_marked"
    MEMORY_REPLAY_BEGUN = "memory.replay_begun"


class CrashPoints:
    """The armed point of this process, if any."""

    def __init__(self, armed: CrashPoint | None = None, fuse: Path | None = None) -> None:
        self._armed = armed
        self._fuse = fuse

    @classmethod
    def from_environment(cls) -> "CrashPoints":
        name = os.environ.get("CRASH_POINT")
        fuse = os.environ.get("CRASH_FUSE")
        if not name or not fuse:
            return cls()
        return cls(CrashPoint(name), Path(fuse))

    def reach(self, point: CrashPoint) -> None:
        """Die here, by SIGKILL, if this point is armed and its fuse still lies there."""
        if point is not self._armed or self._fuse is None:
            return
        try:
            self._fuse.unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
