"""Nobody gets past the edge without a valid token, on no route; and a token opens its own user's data only."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from tests.support.access_tokens import TokenIssuer, forged_tokens
from tests.support.serving import RunningGateway, gateway_settings, running_gateway

from common.memory_api.base import Owner
from gateway.app import create_app
from gateway.authentication.caller import current_caller

ALICE = Owner(tenant_id="shop", user_id="alice")
BOB = Owner(tenant_id="shop", user_id="bob")
FORGERIES = forged_tokens(TokenIssuer(), ALICE)
NO_SERVER = "127.0.0.1:1"

PUBLIC_PATHS = {"/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc", "/healthz", "/readyz", "/metrics"}


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RunningGateway]:
    async with running_gateway(f"redis://{NO_SERVER}", tmp_path_factory.mktemp("gateway")) as running:
        yield running


def api_routes(app: FastAPI) -> list[RouteContext]:
    return [context for context in iter_route_contexts(app.routes) if context.path not in PUBLIC_PATHS]


def requests_of(app: FastAPI, user_id: str) -> list[tuple[str, str]]:
    """Method and path of every operation under /api, with ids filled in."""
    values = {"user_id": user_id, "key": "nut_allergy", "item_id": "item-1", "name": "a-skill"}
    requests = []
    for route in api_routes(app):
        path = str(route.path).replace("{key:path}", "{key}")
        for name in ("session_id", "turn_id", "candidate_id", "order_id"):
            path = path.replace(f"{{{name}}}", str(uuid4()))
        requests += [(method, path.format(**values)) for method in sorted(route.methods or ())]
    return requests


def depends_on(dependant: Dependant, wanted: object) -> bool:
    return any(inner.call is wanted or depends_on(inner, wanted) for inner in dependant.dependencies)


def test_every_route_asks_for_its_caller(tmp_path: Path) -> None:
    key_file = TokenIssuer().write_public_key(tmp_path / "key.pem")
    app = create_app(gateway_settings(f"redis://{NO_SERVER}", f"http://{NO_SERVER}", key_file))
    routes = api_routes(app)
    assert len(routes) > 20
    for context in routes:
        assert str(context.path).startswith("/api/"), f"{context.path} is neither public nor under /api"
        route = context.original_route
        assert isinstance(route, APIRoute)
        assert depends_on(route.dependant, current_caller), f"{context.path} has no caller"


@pytest.mark.parametrize("forgery", [None, *FORGERIES], ids=str)
async def test_a_forged_token_opens_no_route(gateway: RunningGateway, forgery: str | None) -> None:
    token = None if forgery is None else forged_tokens(gateway.issuer, ALICE)[forgery]
    gateway.memory.calls.clear()
    async with gateway.client_with(token) as client:
        for method, path in requests_of(gateway.app, ALICE.user_id):
            answer = await client.request(method, path, json={"text": "hello"})
            assert answer.status_code == 401, f"{method} {path}"
            assert answer.json()["code"] == "unauthenticated"
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert gateway.memory.calls == []


async def test_a_token_anywhere_else_is_no_token(gateway: RunningGateway) -> None:
    token = gateway.issuer.token(ALICE)
    async with gateway.client_with(None) as client:
        client.cookies.set("Authorization", f"Bearer {token}")
        answer = await client.get("/api/sessions", params={"access_token": token, "token": token})
    assert answer.status_code == 401


async def test_a_stranger_is_refused_before_the_body_is_looked_at(gateway: RunningGateway) -> None:
    async with gateway.client_with(None) as client:
        answer = await client.put("/api/settings", content=b"{ not json", headers={"Content-Type": "text/plain"})
    assert answer.status_code == 401


async def test_another_users_preferences_are_forbidden(gateway: RunningGateway) -> None:
    bodies = {"PUT": {"value": "x"}, "POST": {"version_id": str(uuid4())}}
    gateway.memory.calls.clear()
    async with gateway.client(BOB) as client:
        named = [request for request in requests_of(gateway.app, ALICE.user_id) if "/alice" in request[1]]
        assert len(named) > 8
        for method, path in named:
            answer = await client.request(method, path, json=bodies.get(method))
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), f"{method} {path}"
    assert gateway.memory.calls == []


async def test_foreign_ids_do_not_exist(gateway: RunningGateway) -> None:
    turn = gateway.memory.add_turn(ALICE)
    candidate = gateway.memory.add_candidate(ALICE)
    paths = [
        ("GET", f"/api/sessions/{turn.session_id}"),
        ("POST", f"/api/sessions/{turn.session_id}/end"),
        ("GET", f"/api/sessions/{turn.session_id}/turns"),
        ("GET", f"/api/sessions/{turn.session_id}/usage"),
        ("POST", f"/api/sessions/{turn.session_id}/turns"),
        ("GET", f"/api/turns/{turn.turn_id}"),
        ("GET", f"/api/turns/{turn.turn_id}/events"),
        ("POST", f"/api/turns/{turn.turn_id}/cancel"),
        ("POST", f"/api/preferences/bob/candidates/{candidate.candidate_id}/accept"),
        ("POST", f"/api/preferences/bob/candidates/{candidate.candidate_id}/refuse"),
    ]
    for stranger in (BOB, Owner(tenant_id="other", user_id="alice")):
        async with gateway.client(stranger) as client:
            for method, path in paths:
                answer = await _ask(client, method, path.replace("/bob/", f"/{stranger.user_id}/"))
                assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), f"{method} {path}"
    async with gateway.client(ALICE) as client:
        assert (await client.get(f"/api/turns/{turn.turn_id}")).json()["status"] == "accepted"


async def _ask(client: httpx2.AsyncClient, method: str, path: str) -> httpx2.Response:
    body = {"text": "hello"} if path.endswith("/turns") and method == "POST" else None
    return await client.request(method, path, json=body, headers={"Idempotency-Key": "k"})
