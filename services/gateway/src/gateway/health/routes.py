"""Liveness and readiness, for orchestrators; public and without detail."""

from typing import Literal

from fastapi import APIRouter

from common.memory_api.base import Message
from common.problems import ProblemCode, ProblemError
from gateway.dependencies import ReadinessCheck
from gateway.openapi import problems

router = APIRouter(tags=["health"])


class Alive(Message):
    status: Literal["ok"] = "ok"


class Ready(Message):
    status: Literal["ready"] = "ready"
    redis: Literal["up", "down"]


@router.get("/healthz", summary="The process works", responses=problems(ProblemCode.UNAVAILABLE))
async def healthz(readiness: ReadinessCheck) -> Alive:
    if not readiness.alive():
        raise ProblemError(ProblemCode.UNAVAILABLE)
    return Alive()


@router.get("/readyz", summary="The process can serve users", responses=problems(ProblemCode.UNAVAILABLE))
async def readyz(readiness: ReadinessCheck) -> Ready:
    if not await readiness.ready():
        raise ProblemError(ProblemCode.UNAVAILABLE)
    return Ready(redis="up" if await readiness.redis_reachable() else "down")
