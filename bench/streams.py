"""What one gateway process does with many open event streams: `make bench-streams`. The last line is JSON.

PostgreSQL, Valkey, memory and one gateway run on this machine; no agent does, so the turns stay open and their progress
is written by a process of the bench, two events a second for each. Every turn belongs to another user, who follows it.

- **relay_ms**: from just before an event is written to Valkey until its client has read it, by the machine's monotonic
  clock. Client and writer share the machine with the gateway, so their own delay is in it.
- **kb_per_stream**: what the gateway's resident memory grew by from no stream to all of them.
- **resumed_exactly**: clients that went on after the last event they had when the gateway was killed and started again,
  and in the end have every event once, in order.
- **cpu_gateway**: cores that the gateway used while all streams ran; **cpu_machine**: what all processes of the machine
  used meanwhile. Where that comes near the number of cores, the delays are those of a machine that has no time.
- **opening_seconds**: from the first client's connecting, all at once, until each has read an event.
"""

import argparse
import asyncio
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

from bench.http_client import Connection
from bench.machine import busy_cpu, cpu_of, rss_of
from redis.asyncio import Redis
from tests.support.databases import PASSWORDS
from tests.support.processes import Processes

from common.streams.progress import ProgressEvent, ProgressWriter
from devstack.database import DatabaseUrls, create_database, migrate
from devstack.servers.operating_user import remove_directory
from devstack.servers.postgres import EmbeddedPostgres

DIRECTORY = Path(".local/bench-streams").absolute()
PER_SECOND = 2.0
"""Events of each stream."""
AIM_P99_MS = 100.0

_TENANT = "bench"
_PREPARED_AT_ONCE = 8
_PATIENCE_SECONDS = 120.0
_LIMITS = {"TURNS_PER_MINUTE": "1000000", "BACKLOG_LIMIT": "1000000"}
# As in production: at the pace of tests, the sweeper would wake all these turns, which nobody claims, once a second.
_SWEEPS = {"SWEEP_INTERVAL_SECONDS": "2", "REPUBLISH_SECONDS": "60", "PUBLISH_GRACE_SECONDS": "5"}


@dataclass
class Follower:
    """One user who follows one turn, and goes on where the stream broke."""

    turn_id: str
    token: str
    seen: list[int] = field(default_factory=list)
    last_id: str = ""
    delays: list[float] = field(default_factory=list)
    measuring: bool = False
    has_read: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, url: str) -> None:
        parts = urlsplit(url)
        while True:
            connection = Connection(str(parts.hostname), int(parts.port or 80))
            try:
                await self._read(connection)
                return
            except (OSError, EOFError, ValueError):
                await asyncio.sleep(0.5)
            finally:
                connection.close()

    async def _read(self, connection: Connection) -> None:
        headers = {"Authorization": f"Bearer {self.token}"}
        if self.last_id:
            headers["Last-Event-ID"] = self.last_id
        async for event in connection.events(f"/api/turns/{self.turn_id}/events", headers):
            if event.name == ProgressEvent.TEXT_DELTA:
                self.seen.append(event.data["n"])
                self.has_read.set()
                self.last_id = event.entry_id
                if self.measuring:
                    self.delays.append((time.monotonic() - event.data["written_at"]) * 1_000)
            elif event.name == ProgressEvent.TURN_COMPLETED:
                return
        raise EOFError  # the server closed it before the end


async def measure(streams: int, seconds: float) -> dict[str, Any]:
    async with _Servers() as processes:
        _say(f"{streams} turns are made")
        followers = await _prepare(processes, streams)
        gateway = {"gateway": processes.process_id("gateway")}
        empty = rss_of(gateway)["gateway"]
        began_at = time.monotonic()
        following = [asyncio.create_task(each.follow(processes.gateway_url)) for each in followers]
        _say(f"all connect; {PER_SECOND:g} events a second for each")
        writing = await _start_writing(processes.redis_url, followers)
        await _all_have_read(followers)
        opening = time.monotonic() - began_at
        _say(f"all have an event; {seconds:g} s are measured")
        used = await _measured(followers, gateway["gateway"], seconds)
        full = rss_of(gateway)["gateway"]
        _say("the gateway is killed and started again")
        processes.kill("gateway")
        for each in followers:
            each.has_read.clear()
        await processes.start("gateway")
        await _all_have_read(followers)
        async with asyncio.timeout(_PATIENCE_SECONDS):
            written = await _end_writing(writing)
            await asyncio.gather(*following)
    delays = [delay for each in followers for delay in each.delays]
    exact = sum(each.seen == list(range(1, written + 1)) for each in followers)
    return {
        "streams": streams,
        "events_per_stream": written,
        "relay_ms": _spread(delays),
        "kb_per_stream": round((full - empty) * 1_024 / streams, 1),
        **used,
        "opening_seconds": round(opening, 1),
        "resumed_exactly": exact,
        "against": f"Python {platform.python_version()}, {os.cpu_count()} cores, everything on this machine",
    }


async def _all_have_read(followers: Sequence[Follower]) -> None:
    async with asyncio.timeout(_PATIENCE_SECONDS):
        for each in followers:
            await each.has_read.wait()


async def _measured(followers: Sequence[Follower], gateway: int, seconds: float) -> dict[str, float]:
    """Let the followers note delays for a time; returns the cores in use meanwhile."""
    for each in followers:
        each.measuring = True
    began_at, gateway_before, machine_before = time.monotonic(), cpu_of({"gateway": gateway}), busy_cpu()
    await asyncio.sleep(seconds)
    passed = time.monotonic() - began_at
    gateway_cores = (cpu_of({"gateway": gateway})["gateway"] - gateway_before["gateway"]) / passed
    machine_cores = (busy_cpu() - machine_before) / passed
    for each in followers:
        each.measuring = False
    return {"cpu_gateway": round(gateway_cores, 2), "cpu_machine": round(machine_cores, 2)}


class _Servers:
    """PostgreSQL, Valkey, memory and a gateway, on data of their own."""

    async def __aenter__(self) -> Processes:
        shutil.rmtree(DIRECTORY, ignore_errors=True)
        self._postgres = EmbeddedPostgres(DIRECTORY / "postgres", "only-for-the-bench", DIRECTORY / "postgres.log")
        await self._postgres.start()
        admin_url = await create_database(self._postgres.url, "streams")
        await migrate(admin_url, PASSWORDS)
        self._processes = Processes(
            DatabaseUrls.of(admin_url, PASSWORDS), DIRECTORY, {"gateway": _LIMITS, "memory": _SWEEPS}
        )
        await self._processes.valkey.start()
        for name in ("memory", "gateway"):
            await self._processes.start(name)
        return self._processes

    async def __aexit__(self, *_: object) -> None:
        self._processes.kill_all()
        await self._postgres.stop()
        remove_directory(DIRECTORY / "postgres")


async def _prepare(processes: Processes, streams: int) -> list[Follower]:
    waiting = asyncio.Semaphore(_PREPARED_AT_ONCE)
    parts = urlsplit(processes.gateway_url)

    async def one(number: int) -> Follower:
        async with waiting:
            token = processes.token(f"user-{number}", _TENANT)
            connection = Connection(str(parts.hostname), int(parts.port or 80))
            headers = {"Authorization": f"Bearer {token}"}
            session = (await connection.ask("POST", "/api/sessions", headers)).body["session_id"]
            key = {"Idempotency-Key": str(uuid4())}
            path = f"/api/sessions/{session}/turns"
            turn = (await connection.ask("POST", path, {**headers, **key}, {"text": "你好"})).body
            connection.close()
            return Follower(turn["turn_id"], token)

    return list(await asyncio.gather(*(one(number) for number in range(streams))))


async def _start_writing(redis_url: str, followers: Sequence[Follower]) -> asyncio.subprocess.Process:
    """In a process of its own: what it costs must not delay the clients."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.streams", "--write", redis_url),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(" ".join(each.turn_id for each in followers).encode() + b"\n")
    await process.stdin.drain()
    return process


async def _end_writing(process: asyncio.subprocess.Process) -> int:
    """How many events each stream got."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    return int(await process.stdout.read())


async def write(redis_url: str) -> int:
    """Write events evenly over time, each stream's at another moment, as long as the standard input is open; its line
    names the turns. Returns how many each got."""
    turn_ids = [UUID(each) for each in sys.stdin.readline().split()]
    told_to_end = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    async with Redis.from_url(redis_url) as redis:
        writers = [ProgressWriter(redis, turn_id, attempt=1) for turn_id in turn_ids]
        began_at = time.monotonic()
        rounds = 0
        while not told_to_end.done():
            for number, writer in enumerate(writers, start=rounds * len(writers)):
                due_at = began_at + number / (PER_SECOND * len(writers))
                if (early := due_at - time.monotonic()) > 0:
                    await asyncio.sleep(early)
                await writer.emit(ProgressEvent.TEXT_DELTA, {"text": "好" * 20, "written_at": time.monotonic()})
            rounds += 1
        for writer in writers:
            await writer.emit(ProgressEvent.TURN_COMPLETED, {"status": "completed", "reply": "好", "items": []})
    return rounds


def _spread(values: Sequence[float]) -> dict[str, float]:
    if len(values) < 2:
        return {}
    cuts = quantiles(values, n=100)
    return {"p50": round(median(values), 1), "p95": round(cuts[94], 1), "p99": round(cuts[98], 1)}


def _say(step: str) -> None:
    print(f"  {step}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        print(asyncio.run(write(options.write)))
        return
    result = asyncio.run(measure(options.streams, options.seconds))
    result["aim"] = f"p99 < {AIM_P99_MS:g} ms; everybody resumes exactly"
    print(json.dumps(result))


if __name__ == "__main__":
    main()
