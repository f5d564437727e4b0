"""`/healthz`, `/readyz` and `/metrics` of a process. Needs the extra `web`.

Liveness: the loop turns, and what only a new process could repair is not broken. Readiness: this process, its
subscribers and its connections. A backlog is no reason to take a process out: it is an alert, and fewer processes
would only make it worse.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from common.problems import Problem, ProblemCode
from common.telemetry.metrics import CONTENT_TYPE, Metrics
from common.web import problem_response

CHECK_SECONDS = 2.5
"""A check that takes longer has failed: the probe that asks does not wait longer either."""

Check = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Health:
    """`checks` are what readiness needs, by the name that is shown; `optional` ones are shown and not needed."""

    alive: Callable[[], bool]
    checks: Mapping[str, Check]
    optional: Mapping[str, Check]


def health_router(health: Health, metrics: Metrics) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    async def healthz() -> Response:
        if health.alive():
            return JSONResponse({"status": "alive"})
        return problem_response(Problem.of(ProblemCode.UNAVAILABLE))

    @router.get("/readyz")
    async def readyz() -> Response:
        names = (*health.checks, *health.optional)
        found = await asyncio.gather(*(_holds(check) for check in (*health.checks.values(), *health.optional.values())))
        shown = {name: "up" if up else "down" for name, up in zip(names, found, strict=True)}
        if health.alive() and all(shown[name] == "up" for name in health.checks):
            return JSONResponse({"status": "ready", "checks": shown})
        return problem_response(Problem.of(ProblemCode.UNAVAILABLE, checks=shown))

    @router.get("/metrics")
    async def told_metrics() -> Response:
        return metrics_response(metrics)

    return router


def metrics_response(metrics: Metrics) -> Response:
    return Response(metrics.text(), headers={"Content-Type": CONTENT_TYPE})


async def _holds(check: Check) -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check()
    except TimeoutError:
        return False
