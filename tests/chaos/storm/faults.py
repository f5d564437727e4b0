"""What goes wrong when: a schedule made from a seed, so that a run can be repeated. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from common.crash_points import CrashPoint

REPLICAS = ("memory", "memory-2", "gateway", "gateway-2", "agent", "agent-2", "curator", "curator-2")
LINKS = ("postgres", "valkey", "memory", "model")


class FaultKind(StrEnum):
    KILL = "kill"
    """SIGKILL of a replica, which is started again after a while."""
    CRASH = "crash"
    """The same, but when it next comes to a registered crash point."""
    STOP_POSTGRES = "stop-postgres"
    CRASH_POSTGRES = "crash-postgres"
    """It is not allowed to shut down, and recovers from its log."""
    KILL_VALKEY = "kill-valkey"
    """It forgets everything."""
    WIPE_VALKEY = "wipe-valkey"
    DELAY = "delay"
    RESET = "reset"
    CUT = "cut"
    CLOSE = "close"
    """A link refuses everybody for a while."""


@dataclass(frozen=True)
class Fault:
    pause: float
    """Seconds since the fault before."""
    kind: FaultKind
    target: str = ""
    """A replica or a link."""
    seconds: float = 0.0
    """How long it lasts."""
    amount: float = 0.0
    """Of a delay: seconds for every chunk; of a cut: bytes."""
    point: CrashPoint | None = None


_WEIGHTS: Mapping[FaultKind, float] = {
    FaultKind.KILL: 4,
    FaultKind.CRASH: 3,
    FaultKind.STOP_POSTGRES: 0.5,
    FaultKind.CRASH_POSTGRES: 0.5,
    FaultKind.KILL_VALKEY: 1,
    FaultKind.WIPE_VALKEY: 1.5,
    FaultKind.DELAY: 2,
    FaultKind.RESET: 2.5,
    FaultKind.CUT: 2.5,
    FaultKind.CLOSE: 1.5,
}

# Only `memory replay` comes to it, and nobody replays here.
_POINTS = tuple(point for point in CrashPoint if point is not CrashPoint.MEMORY_REPLAY_BEGUN)


def faults(seed: int) -> Iterator[Fault]:
    """For ever; each kind once at first, so that a short run has seen them all."""
    random = Random(seed)
    first = [*FaultKind]
    random.shuffle(first)
    for kind in first:
        yield _fault(random, kind)
    while True:
        yield _fault(random, random.choices([*_WEIGHTS], [*_WEIGHTS.values()])[0])


def _fault(random: Random, kind: FaultKind) -> Fault:
    pause = random.uniform(1.0, 5.0)
    match kind:
        case FaultKind.KILL:
            return Fault(pause, kind, random.choice(REPLICAS), seconds=random.uniform(0.0, 2.0))
        case FaultKind.CRASH:
            point = random.choice(_POINTS)
            service = point.partition(".")[0]
            return Fault(pause, kind, random.choice([service, f"{service}-2"]), point=point)
        case FaultKind.STOP_POSTGRES | FaultKind.CRASH_POSTGRES | FaultKind.KILL_VALKEY:
            return Fault(pause, kind, seconds=random.uniform(0.0, 1.0))
        case FaultKind.WIPE_VALKEY:
            return Fault(pause, kind)
        case FaultKind.DELAY:
            amount = random.uniform(0.005, 0.05)
            return Fault(pause, kind, random.choice(LINKS), seconds=random.uniform(1.0, 4.0), amount=amount)
        case FaultKind.RESET:
            return Fault(pause, kind, random.choice(LINKS))
        case FaultKind.CUT:
            return Fault(pause, kind, random.choice(LINKS), amount=random.randrange(1, 3_000))
        case FaultKind.CLOSE:
            return Fault(pause, kind, random.choice(LINKS), seconds=random.uniform(0.2, 2.0))
