"""What a replay after a change of the curator's prompt shows an operator: `python -m bench.replay`.

1,000 finished turns of 50 users are recorded through memory's API and curated by a curator process. Then its prompt is
changed (`CHANGE` is added to a copy of its instructions) and it is started again; `memory replay start` runs dry, in
earnest, and once more. The commands and what they print are shown as they are.

The offline model follows no instructions, so from then on its careless curator plays the part: it proposes whatever it
sees, which is what too generous a prompt leads a real model to. MODEL_BASE_URL and the rest replace it by a real one,
which needs no such help.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import asyncpg
from bench.memory.servers import Servers, running_servers
from pydantic import SecretStr

from common.clock import SystemClock
from common.ids import new_id
from common.memory_api import operations as op
from common.memory_api.base import Owner
from common.memory_api.client import MemoryClient
from common.memory_api.sessions import CreateSession, Layer, NewLogEntry
from common.memory_api.turns import AcceptTurn, ClaimTurn, FinishTurn
from devstack.children import child_environment
from devstack.services import OFFLINE_MODEL, service_environments

CHANGE = "\n- 生活习惯也记：怎么出行、常做的运动、睡眠、喝什么（category 用 preference）。\n"
AFTER = "# 不记什么"

USERS, TURNS_OF_A_USER = 50, 20
RATE = 25
_TENANT = "bench"
_AT_ONCE = 4
_REPLY = "好的，给你找了几款。"
_SAID = (
    "我对坚果过敏，找一点办公室零食",
    "东西都寄德国，想买一个通勤双肩包",
    "我平时骑车上班，推荐一件防风外套",
    "我只喝无咖啡因的咖啡，有什么推荐",
    "我不喜欢塑料的，找个饭盒",
    "找一双跑鞋，我每天早上跑步",
    "我穿 42 码的鞋，看看凉鞋",
    "这次预算 300 以内，找个台灯",
    "我喜欢简约的风格，找个书架",
    "我妈对花生过敏，给她买点点心",
    "这个有货吗，我的订单到哪了",
    "我睡眠浅，想找耳塞",
    "我一直喝绿茶，有新茶吗",
    "I am allergic to nuts, find me some snacks",
    "帮我看看露营灯",
    "我家有一只猫，找猫抓板",
    "我是护士，经常站着，找双舒服的鞋",
    "我喜欢蓝色，找条围巾",
    "便宜点的雨伞",
    "我皮肤敏感，找个面霜",
)


async def main() -> None:
    async with running_servers() as servers:
        await servers.start(OFFLINE_MODEL, "memory", "curator")
        await _record(servers)
        await _curated(servers)
        await servers.services.stop("curator")
        with TemporaryDirectory() as directory:
            # Where the model is a real one, the changed prompt is enough.
            model = {"MODEL_FAST": "careless-curator"} if _is_played(servers) else {}
            await servers.start("curator", PYTHONPATH=str(_with_changed_prompt(Path(directory))), **model)
            for options in (["--dry-run"], [], []):
                await _replay(servers, options)


def _is_played(servers: Servers) -> bool:
    return servers.connections.model.base_url.startswith(servers.services.url(OFFLINE_MODEL))


async def _record(servers: Servers) -> None:
    gateway, agent = (
        MemoryClient(servers.services.url("memory"), SecretStr(token), SystemClock())
        for token in (servers.secrets.gateway_token, servers.secrets.agent_token)
    )
    free = asyncio.Semaphore(_AT_ONCE)

    async def user(number: int) -> None:
        owner = Owner(tenant_id=_TENANT, user_id=f"user-{number:02}")
        async with free:
            session = await gateway.call(op.CREATE_SESSION, CreateSession(owner=owner))
            for turn in range(TURNS_OF_A_USER):
                accept = AcceptTurn(
                    owner=owner,
                    session_id=session.session_id,
                    idempotency_key=str(uuid4()),
                    text=_SAID[(number + turn) % len(_SAID)],
                )
                accepted = await gateway.call(op.ACCEPT_TURN, accept)
                turn_id, token = accepted.turn.turn_id, uuid4()
                claimed = await agent.call(op.CLAIM_TURN, ClaimTurn(owner=owner, turn_id=turn_id, lease_token=token))
                finish = FinishTurn(
                    owner=owner,
                    turn_id=turn_id,
                    lease_token=token,
                    expected_head=claimed.head,
                    entries=[
                        NewLogEntry(entry_id=new_id(), layer=Layer.L3, payload='{"role":"assistant","content":"好"}')
                    ],
                    reply=_REPLY,
                )
                await agent.call(op.FINISH_TURN, finish)

    started_at = time.perf_counter()
    await asyncio.gather(*(user(number) for number in range(USERS)))
    print(f"# {USERS * TURNS_OF_A_USER:,} turns of {USERS} users recorded in {time.perf_counter() - started_at:.0f} s")
    await gateway.close()
    await agent.close()


async def _curated(servers: Servers) -> None:
    """Wait until the sweeper has published every curation and the curator has done it."""
    started_at = time.perf_counter()
    connection = await asyncpg.connect(servers.database.admin)
    try:
        while await connection.fetchval("SELECT count(*) FROM dispatch WHERE state IN ('pending', 'leased')"):  # noqa: ASYNC110 - a state outside this process has no event
            await asyncio.sleep(1.0)
        facts = await connection.fetchval("SELECT count(*) FROM memory_facts")
    finally:
        await connection.close()
    print(f"# curated in {time.perf_counter() - started_at:.0f} s: {facts} facts", flush=True)


def _with_changed_prompt(directory: Path) -> Path:
    """A copy of the curator whose instructions say one thing more; to stand first on its path."""
    shutil.copytree(str(files("curator")), directory / "curator")
    instructions = directory / "curator/extraction/instructions.md"
    text = instructions.read_text(encoding="utf-8")
    if text.count(AFTER) != 1:
        raise SystemExit(f"the instructions have no single line {AFTER!r}")
    instructions.write_text(text.replace(AFTER, CHANGE.lstrip("\n") + "\n" + AFTER), encoding="utf-8")
    return directory


async def _replay(servers: Servers, options: list[str]) -> None:
    arguments = ["replay", "start", "--tenant", _TENANT, "--rate", str(RATE), *options]
    print(f'\n$ make replay ARGS="{" ".join(arguments[1:])}"', flush=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "memory", *arguments), env=child_environment(_of_memory(servers))
    )
    print(f"# exit code {await process.wait()}", flush=True)


def _of_memory(servers: Servers) -> Mapping[str, str]:
    return service_environments(servers.connections, servers.secrets, servers.services.url("memory"))["memory"]


if __name__ == "__main__":
    asyncio.run(main())
