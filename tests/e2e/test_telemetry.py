"""What the running system tells about itself: one trace for one turn, the metrics of the table, and no word of a
user in any of it."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis
from tests.support.conversation import Conversation, conversation
from tests.support.databases import database_from
from tests.support.processes import Processes, running_processes
from tests.support.scraping import Scraped, scrape
from tests.support.trace_collector import Span, TraceCollector, collecting_traces
from tests.support.waiting import wait_for

from common.clock import SystemClock
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.client import MemoryClient
from common.memory_api.turns import AcceptTurn
from common.streams.names import TURN_COMPLETED, TURN_REQUESTED
from common.telemetry import table

pytestmark = pytest.mark.timeout(180)

SERVICES = ("gateway", "memory", "agent", "curator")
BACKPACK = "我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内"


@dataclass(frozen=True)
class Observed:
    processes: Processes
    collector: TraceCollector

    async def metrics(self) -> dict[str, Scraped]:
        return {name: await scrape(self.processes.url(name)) for name in SERVICES}


@pytest.fixture(scope="module")
async def observed(
    postgres: str, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Observed]:
    """The whole system with a collector of traces."""
    directory = tmp_path_factory.mktemp("observed")
    async with collecting_traces() as collector, database_from(postgres, migrated_template) as database:
        environment = {name: dict(collector.environment()) for name in SERVICES}
        environment["memory"]["BACKLOG_INTERVAL_SECONDS"] = "0.2"
        async with running_processes(database, directory, environment) as processes:
            yield Observed(processes, collector)


async def arrived(collector: TraceCollector, turn_id: str, service: str, name: str) -> Span:
    """The turn's span of this name, once it has been exported together with all that it hangs on."""
    found: list[Span] = []

    def complete() -> bool:
        traces = {span.trace_id for span in collector.about_turn(turn_id)}
        found[:] = [
            span for span in collector.spans if span.trace_id in traces and (span.service, span.name) == (service, name)
        ]
        return bool(found) and not collector.path(found[0])[0].parent_id

    await wait_for(complete, f"{name} of {service} has arrived")
    return found[0]


async def test_one_turn_is_one_trace_over_all_services(observed: Observed) -> None:
    collector = observed.collector
    async with conversation(observed.processes) as user:
        # A stranger's trace is not continued: the gateway begins one of its own.
        user.client.headers["traceparent"] = f"00-{'ab' * 16}-{'cd' * 8}-01"
        turn_id = await user.say(BACKPACK)
        await user.curated(turn_id)
    last = await arrived(collector, turn_id, "memory", "POST /internal/v1/curations/ingest")
    assert [(span.service, span.name) for span in collector.path(last)] == [
        ("gateway", "POST /api/sessions/{session_id}/turns"),
        ("gateway", f"{TURN_REQUESTED} publish"),
        ("agent", f"{TURN_REQUESTED} process"),
        ("agent", f"{TURN_COMPLETED} publish"),
        ("curator", f"{TURN_COMPLETED} process"),
        ("curator", "memory curations/ingest"),
        ("memory", "POST /internal/v1/curations/ingest"),
    ]
    trace = collector.trace(last.trace_id)
    assert {span.service for span in trace} == set(SERVICES)
    assert {span.trace_id for span in collector.about_turn(turn_id)} == {last.trace_id}
    assert [span.name for span in trace if not span.parent_id] == ["POST /api/sessions/{session_id}/turns"]
    names = [(span.service, span.name) for span in trace]
    for expected in (
        ("memory", "POST /internal/v1/turns/accept"),
        ("memory", "POST /internal/v1/turns/claim"),
        ("memory", "POST /internal/v1/facts/read"),
        ("agent", "model main"),
        ("agent", "tool item_search"),
        ("memory", "POST /internal/v1/turns/finish"),
        ("curator", "model curator"),
    ):
        assert expected in names, sorted(names)
    model_call = next(span for span in trace if span.name == "model main")
    assert model_call.attributes["shoppingx.prompt_tokens"] > 0
    # On a slow machine two may fail with nothing wrong: publishing has 200 ms and is best effort, and a renewal of the
    # lease may cross the end of the turn.
    harmless = (" publish", "turns/renew")
    assert [span.name for span in trace if span.failed and not span.name.endswith(harmless)] == []


async def test_what_the_sweeper_wakes_has_a_trace_from_the_sweeper_on(observed: Observed) -> None:
    async with conversation(observed.processes) as user:
        turn_id = await accepted_and_not_told(observed.processes, user)
        await user.curated(turn_id)
    working = await arrived(observed.collector, turn_id, "agent", f"{TURN_REQUESTED} process")
    assert working.attributes["shoppingx.cause"] == "sweep"
    first = observed.collector.path(working)[0]
    assert (first.service, first.name) == ("memory", f"{TURN_REQUESTED} publish")
    assert first.attributes["shoppingx.turn_id"] == turn_id


async def accepted_and_not_told(processes: Processes, user: Conversation) -> str:
    """As if the gateway had died between the two."""
    token = SecretStr(processes.secrets.gateway_token)
    memory = MemoryClient(processes.url("memory"), token, SystemClock())
    try:
        answer = await memory.call(
            op.ACCEPT_TURN,
            AcceptTurn(
                owner=Owner(tenant_id="t1", user_id=user.user),
                session_id=UUID(user.session_id),
                idempotency_key=str(uuid4()),
                text="你好",
            ),
        )
    finally:
        await memory.close()
    return str(answer.turn.turn_id)


async def test_every_service_tells_exactly_the_metrics_of_the_table(observed: Observed) -> None:
    for service, scraped in (await observed.metrics()).items():
        told = {name for name in scraped.families if name.startswith("shoppingx_")}
        assert told == {row.name for row in table.all_metrics() if service in row.services}, service
        assert {"process_cpu_seconds_total", "process_resident_memory_bytes"} <= scraped.families


async def test_metrics_follow_a_turn(observed: Observed) -> None:
    before = await observed.metrics()
    async with conversation(observed.processes) as user:
        turn_id = await user.say(BACKPACK)
        _ = [event async for event in user.events(turn_id)]
        await user.curated(turn_id)
    after = await observed.metrics()

    def grown(service: str, row: table.Metric, **labels: str) -> float:
        return after[service].value(row, **labels) - before[service].value(row, **labels)

    assert grown("gateway", table.HTTP_SECONDS, route="/api/sessions/{session_id}/turns", status="202") == 1
    assert grown("memory", table.HTTP_SECONDS, route="/internal/v1/turns/accept", status="200") == 1
    assert grown("gateway", table.EVENTS_PUBLISHED, type="turn.requested", cause="live", outcome="published") == 1
    assert grown("agent", table.EVENTS_HANDLED, type="turn.requested", outcome="done") >= 1
    assert grown("agent", table.EVENTS_PUBLISHED, type="turn.completed", cause="live") == 1
    assert grown("curator", table.EVENTS_HANDLED, type="turn.completed", outcome="done") >= 1
    calls = grown("agent", table.MODEL_CALLS, kind="main", outcome="answered")
    assert calls >= 2
    assert grown("agent", table.MODEL_FIRST_TOKEN_SECONDS, kind="main") == calls
    assert grown("agent", table.MODEL_TOKENS, kind="main", type="prompt") > 1_000
    assert grown("agent", table.MODEL_CACHE_TOKENS, kind="main", part="cached") > 0
    assert grown("agent", table.TOOL_SECONDS, tool="item_search", outcome="done") >= 1
    assert grown("curator", table.MODEL_CALLS, kind="curator", outcome="answered") == 1
    assert grown("memory", table.TURN_SECONDS, outcome="completed") == 1
    assert grown("memory", table.TURN_WAIT_SECONDS) == 1
    assert grown("memory", table.TURN_TO_FACT_SECONDS) == 1
    assert grown("memory", table.FACTS, source="curator", action="added") == 2
    assert grown("memory", table.WORK_ATTEMPTS, kind="turn", state="done") == 1
    assert grown("memory", table.WORK_ATTEMPTS, kind="curate_turn", state="done") == 1
    assert grown("memory", table.SWEEPS, outcome="done") >= 1
    assert after["gateway"].value(table.EVENT_STREAMS_OPEN) == 0
    for service in SERVICES:
        assert user.user not in after[service].text


CANARY = "独一无二的金丝雀词"
IDENTIFIER = "13800138000"


async def test_no_word_of_a_user_is_told(observed: Observed) -> None:
    """Words go everywhere they can go, also down the paths where something fails. Then nothing that a service has
    told may hold one: not its log, not its metrics, not its spans."""
    processes = observed.processes
    async with conversation(processes) as user:
        for said in sayings():
            await user.curated(await user.say(said))
            if "malformed" not in said and "http" not in said:
                await user.new_session()
        assert (await user.facts())["canary_allergy"]["value"] == f"对{CANARY}过敏"
        await misuse(user)
    async with Redis.from_url(processes.redis_url) as redis:
        for stream in (TURN_REQUESTED, TURN_COMPLETED):
            await redis.xadd(stream, {"__data__": json.dumps({"type": CANARY, "text": CANARY}).encode()})
            await redis.xadd(stream, {CANARY.encode(): CANARY.encode()})
    async with conversation(processes) as other:  # once this is done, so is what came before
        last = await other.say("你好")
        await other.curated(last)
    await arrived(observed.collector, last, "memory", "POST /internal/v1/curations/ingest")

    for name in (*SERVICES, "offline_model"):
        log = processes.log_text(name)
        assert log, name
        assert_no_words(log, name)
    for name, scraped in (await observed.metrics()).items():
        assert_no_words(scraped.text, f"metrics of {name}")
    assert_no_words(json.dumps([vars(span) for span in observed.collector.spans], ensure_ascii=False), "spans")
    assert not any(span.events for span in observed.collector.spans), "an exception's message is an event of its span"


def sayings() -> Iterator[str]:
    """In a message, a fact, the arguments of a tool, what a model answers, and where things go wrong."""
    yield f"记住我对{CANARY}过敏 [[offline:save=canary_allergy|对{CANARY}过敏|constraint]]"
    yield f"找一个{CANARY}双肩包 {IDENTIFIER}"
    yield f"[[offline:save=contact|{CANARY} {IDENTIFIER}|preference]]"
    yield f"[[offline:save={CANARY}|{CANARY}|{CANARY}]]"
    yield f"[[offline:text={CANARY}]]"
    yield f"{CANARY} [[offline:malformed_arguments]]"
    yield f"{CANARY} [[offline:http=400]]"
    yield f"{CANARY} [[offline:cut*1]]"
    yield f"{CANARY} [[offline:curator.http=400*1]]"
    yield f"{CANARY} [[offline:echo_context]]"


async def misuse(user: Conversation) -> None:
    """Words where none belong, over HTTP."""
    http, canary = user.client, CANARY
    turns = f"/api/sessions/{user.session_id}/turns"
    header = canary.encode()
    await http.post(turns, content=f'{{"text":"{canary}"'.encode(), headers={"Content-Type": "application/json"})
    await http.post(turns, json={"text": "x", canary: canary}, headers={"Idempotency-Key": "k"})
    await http.post(turns, json={"text": canary}, headers={b"Idempotency-Key": header})
    await http.post(f"{turns}?{canary}={canary}", json={"text": [canary]}, headers={"Idempotency-Key": "k"})
    await http.request(canary.encode("punycode").decode("ascii").upper(), "/api/preferences")
    await http.get(f"/api/{canary}/{IDENTIFIER}")
    await http.get(f"/api/turns/{canary}")
    await http.get("/api/preferences", headers={b"Authorization": header})
    await http.get("/api/preferences", headers={b"User-Agent": header, b"traceparent": header})
    await http.put(f"/api/preferences/{user.user}/contact", json={"value": f"{canary} {IDENTIFIER}"})
    await http.put(f"/api/preferences/{user.user}/{canary}", json={"value": canary})
    await http.put(f"/api/favourites/{canary}")
    await http.delete(f"/api/preferences/{user.user}/{canary}")


def assert_no_words(text: str, where: str) -> None:
    escaped = json.dumps(CANARY)[1:-1]
    for word in (CANARY, escaped, CANARY.encode("punycode").decode("ascii").upper(), IDENTIFIER):
        at = text.find(word)
        assert at < 0, f"{where}: {text[max(0, at - 200) : at + 50]}"
