"""Sends recorded calls again, to one simulated cache after the other, and to a second engine where one is given."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2
from bench.cache.calls import Call
from bench.http_client import Connection

from model_client.cache_marks import marked_messages
from model_client.profiles import PROFILES
from model_client.usage import ModelUsage, read_usage

POLICIES = ("block16", "block64", "block128", "block256", "block528", "exact", "marks")
MARKS = "marks"
_MARKED_PROFILE = PROFILES["dashscope"]


@dataclass(frozen=True)
class Replayed:
    """A call and what was reported for it."""

    call: Call
    usage: ModelUsage


class SimulatedCaches:
    """The caches of an offline model, each under a base URL of its own."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = Connection(str(parts.hostname), int(parts.port or 80))

    async def replay(self, calls: Iterable[Call], policy: str) -> list[Replayed]:
        """The calls in their order, to a cache that is empty at first."""
        await self._ask("DELETE", f"/caches/{policy}", None, 204)
        return [Replayed(call, await self._send(prepared(call, policy), policy)) for call in calls]

    def close(self) -> None:
        self._connection.close()

    async def _send(self, call: Call, policy: str) -> ModelUsage:
        body = await self._ask("POST", f"/caches/{policy}/v1/chat/completions", call.body(**_answer(call)), 200)
        return read_usage(body["usage"])

    async def _ask(self, method: str, path: str, body: bytes | None, status: int) -> Any:
        answer = await self._connection.ask(method, path, {}, body)
        if answer.status != status:
            raise SystemExit(f"{path} answered {answer.status}: {answer.body}")
        return answer.body


class SecondEngine:
    """Any OpenAI-compatible engine, asked for one token each time."""

    def __init__(self, base_url: str, api_key: str, model: str | None) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._model = model
        self._http = httpx2.AsyncClient(trust_env=False, timeout=600.0, headers={"Authorization": f"Bearer {api_key}"})

    async def replay(self, calls: Iterable[Call]) -> list[Replayed]:
        return [Replayed(call, await self._send(call)) for call in calls]

    async def close(self) -> None:
        await self._http.aclose()

    async def _send(self, call: Call) -> ModelUsage:
        model = {} if self._model is None else {"model": self._model}
        headers = {"Content-Type": "application/json"}
        answer = await self._http.post(self._url, content=call.body(max_tokens=1, **model), headers=headers)
        if answer.status_code != 200:
            raise SystemExit(f"{self._url} answered {answer.status_code}: {answer.text[:300]}")
        body = answer.json()
        return read_usage(body.get("usage") or body)


def prepared(call: Call, policy: str) -> Call:
    """The call as a provider with this kind of cache gets it: with marks where it caches nothing without."""
    if policy != MARKS or any('"cache_control"' in message for message in call.messages[:1]):
        return call
    return replace(call, messages=tuple(marked_messages(call.messages, call.tools, _MARKED_PROFILE)))


def _answer(call: Call) -> dict[str, Any]:
    """The recorded answer, since some caches keep it too; where there is none, one token will do."""
    if call.answer is None:
        return {"max_tokens": 1}
    return {"offline_answer": json.loads(call.answer)}
