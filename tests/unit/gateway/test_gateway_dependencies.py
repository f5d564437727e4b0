"""What a route depends on is worked out on the event loop: FastAPI runs plain functions on another thread, which costs
more than what they do."""

import inspect
from collections.abc import Iterator

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from gateway.app import _API_ROUTERS

ROUTES = [route for router in _API_ROUTERS for route in router.routes if isinstance(route, APIRoute)]


def calls_of(dependant: Dependant) -> Iterator[object]:
    yield dependant.call
    for dependency in dependant.dependencies:
        yield from calls_of(dependency)


def is_coroutine(call: object) -> bool:
    return any(inspect.iscoroutinefunction(found) for found in (call, getattr(call, "__call__", None)))  # noqa: B004


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{min(route.methods)} {route.path}")
def test_a_route_needs_no_thread(route: APIRoute) -> None:
    assert [call for call in calls_of(route.dependant) if not is_coroutine(call)] == []
