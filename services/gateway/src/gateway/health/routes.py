"""Liveness and readiness, for orchestrators; public and without detail. Metrics, for the operator's network only."""

from typing import Literal

from fastapi import APIRouter, Request, Response

from common.memory_api.base import Message
from common.problems import ProblemCode, ProblemError
from common.process.health import metrics_response
from gateway.dependencies import ProcessMetrics, ReadinessCheck
from gateway.openapi import problems

router = APIRouter(tags=["health"])

FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-real-ip"})
"""What a proxy adds to a request that it passes on."""


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


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request, told: ProcessMetrics) -> Response:
    """Not for whoever comes through the load balancer, also where that one forgot to say so."""
    if FORWARDED & set(request.headers):
        raise ProblemError(ProblemCode.NOT_FOUND)
    return metrics_response(told)
