"""What the routes are given. `app.py` builds it once; nothing here is built per request.

All of these are coroutines, because FastAPI runs plain functions on another thread.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from common.clock import Clock
from common.telemetry.metrics import Metrics
from gateway.events.follow import TurnFollower
from gateway.health.readiness import Readiness
from gateway.memory_service import MemoryService
from gateway.settings import GatewaySettings
from gateway.turns.acceptance import TurnAcceptance
from gateway.turns.cancellation import TurnCancellation


@dataclass(frozen=True)
class Components:
    settings: GatewaySettings
    clock: Clock
    memory: MemoryService
    acceptance: TurnAcceptance
    cancellation: TurnCancellation
    follower: TurnFollower
    readiness: Readiness
    metrics: Metrics


async def components(request: Request) -> Components:
    found = request.app.state.components
    assert isinstance(found, Components)
    return found


_Components = Annotated[Components, Depends(components)]


async def _settings(found: _Components) -> GatewaySettings:
    return found.settings


async def _clock(found: _Components) -> Clock:
    return found.clock


async def _memory(found: _Components) -> MemoryService:
    return found.memory


async def _acceptance(found: _Components) -> TurnAcceptance:
    return found.acceptance


async def _cancellation(found: _Components) -> TurnCancellation:
    return found.cancellation


async def _follower(found: _Components) -> TurnFollower:
    return found.follower


async def _metrics(found: _Components) -> Metrics:
    return found.metrics


async def _readiness(found: _Components) -> Readiness:
    return found.readiness


Settings = Annotated[GatewaySettings, Depends(_settings)]
WallClock = Annotated[Clock, Depends(_clock)]
Memory = Annotated[MemoryService, Depends(_memory)]
Acceptance = Annotated[TurnAcceptance, Depends(_acceptance)]
Cancellation = Annotated[TurnCancellation, Depends(_cancellation)]
Follower = Annotated[TurnFollower, Depends(_follower)]
ReadinessCheck = Annotated[Readiness, Depends(_readiness)]
ProcessMetrics = Annotated[Metrics, Depends(_metrics)]
