"""Promise 4 with real processes: cleared, deleted, refused or erased while turns run, are curated, die and come again.

A canary is a word that stands nowhere else. Each user's canary goes into a fact or a candidate, from there into memory
blocks, answers and progress streams; other turns that know of it are on their way. Then the user speaks. When all has
settled and every old event was sent once more, the canary is looked for in everything the user's word was about.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from redis.asyncio import Redis
from tests.support.conversation import Conversation, conversation
from tests.support.memory_database import memory_database
from tests.support.processes import Processes
from tests.support.readable_rows import UNREADABLE, places_of, readable_rows
from tests.support.waiting import wait_for

from common.memory_api.base import Owner
from common.streams.names import AGENT_GROUP, CURATOR_GROUP
from devstack.demo.resending import recorded_events, resend

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(240)]

SLOWLY = "[[offline:slow=0.02]]"
ECHO = "[[offline:echo_context]]"
MEMORIES = ("memory_facts.", "memory_fact_versions.", "memory_candidates.")


class Shopper:
    """A user with a canary, and every place where it might be."""

    def __init__(self, processes: Processes, talking: Conversation) -> None:
        self.processes = processes
        self.talking = talking
        self.client = talking.client
        self.url = f"/api/preferences/{talking.user}"
        self.canary = f"canary{uuid4().hex[:12]}".translate(str.maketrans("0123456789", "ghijklmnop"))
        self.sessions = {talking.session_id}

    @property
    def value(self) -> str:
        return f"不要{self.canary}材质"

    async def says(self, text: str, *, new_session: bool = False) -> str:
        if new_session:
            self.sessions.add(await self.talking.new_session())
        return await self.talking.say(text)

    async def writes_it_down(self) -> None:
        """On the preference page: no word of theirs in a conversation holds the canary."""
        answer = await self.client.put(f"{self.url}/material_avoid", json={"value": self.value})
        assert answer.status_code == 200, answer.text

    async def has_it_quoted(self) -> None:
        turn = await self.talking.ended(await self.says(f"{ECHO}你记得什么"))
        assert self.canary in turn["reply"], turn

    async def candidates(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.client.get(f"{self.url}/candidates")).json()["candidates"]
        return found

    async def rows(self) -> Mapping[str, list[str]]:
        """Everything PostgreSQL has of the user, in the clear."""
        database = memory_database(self.processes)
        try:
            owner = Owner(tenant_id="t1", user_id=self.talking.user)
            return await readable_rows(self.processes.connections.database.admin, database, owner)
        finally:
            await database.close()

    async def is_in_redis(self) -> list[str]:
        """Keys that hold the canary. Streams are read as such: what DUMP gives of them is compressed."""
        async with Redis.from_url(self.processes.redis_url) as redis:
            keys = [key async for key in redis.scan_iter(count=1_000)]
            return [key.decode() for key in keys if self.canary.encode() in await _content(redis, key)]

    def is_in_logs(self) -> list[str]:
        logs = self.processes.directory.rglob("*.log")
        return [path.name for path in logs if self.canary in path.read_text(errors="replace")]


async def _content(redis: Redis, key: bytes) -> bytes:
    if await redis.type(key) != b"stream":
        return (await redis.dump(key)) or b""
    entries: Any = await redis.xrange(key)
    return b"\n".join(value for _, fields in entries for value in fields.values())


@pytest.fixture
async def user(processes: Processes) -> AsyncIterator[Shopper]:
    async with conversation(processes) as talking:
        yield Shopper(processes, talking)


async def while_turns_run(user: Shopper, older: str, word: Callable[[], Awaitable[None]]) -> None:
    """Two sessions at work, one of them slowly."""
    slow = await user.says(f"{older}{SLOWLY}", new_session=True)
    await user.says(older, new_session=True)
    await wait_for(lambda: is_running(user, slow), "the slow turn runs", timeout=40.0)
    await word()


async def while_an_agent_is_dead(user: Shopper, older: str, word: Callable[[], Awaitable[None]]) -> None:
    """The lease of a killed agent is still held when the user speaks; another takes the turn up afterwards."""
    slow = await user.says(f"{older}{SLOWLY}", new_session=True)
    await wait_for(lambda: is_running(user, slow), "the slow turn runs", timeout=40.0)
    user.processes.kill("agent")
    try:
        await word()
    finally:
        await user.processes.start("agent")


async def while_a_curation_waits(user: Shopper, older: str, word: Callable[[], Awaitable[None]]) -> None:
    """The turn has ended, its curation has not begun, and memory is killed in the middle of the user's word."""
    await user.processes.stop("curator")
    try:
        await user.talking.ended(await user.says(older, new_session=True))
        await word()
        user.processes.kill("memory")
        await user.processes.start("memory")
    finally:
        await user.processes.start("curator")


Moment = Callable[[Shopper, str, Callable[[], Awaitable[None]]], Awaitable[None]]
MOMENTS: list[Moment] = [while_turns_run, while_an_agent_is_dead, while_a_curation_waits]


async def is_running(user: Shopper, turn_id: str) -> bool:
    return bool((await user.talking.turn(turn_id))["status"] == "running")


async def unread_and_unacknowledged(redis: Redis) -> tuple[int, int]:
    """Events of all groups. What a killed process has read and not acknowledged stays so: nobody reclaims it."""
    groups = [group for wanted in (AGENT_GROUP, CURATOR_GROUP) for group in await redis.xinfo_groups(wanted.stream)]
    return sum(group["lag"] or 0 for group in groups), sum(group["pending"] for group in groups)


async def everything_has_settled(user: Shopper) -> None:
    """Every event of the user's sessions is sent once more, and nothing is left to do."""
    async with Redis.from_url(user.processes.redis_url) as redis:
        _, left_by_the_dead = await unread_and_unacknowledged(redis)
        await resend(redis, await recorded_events(redis, user.sessions))

        async def consumed() -> bool:
            unread, unacknowledged = await unread_and_unacknowledged(redis)
            return not unread and unacknowledged <= left_by_the_dead

        await wait_for(consumed, "all events are consumed", timeout=60.0, every=0.1)

    async def settled() -> bool:
        try:
            await user.processes.check_invariants(settled=True)
        except Exception:  # noqa: BLE001 - work is still open; the last try tells
            return False
        return True

    await wait_for(settled, "nothing is open and every invariant holds", timeout=60.0, every=0.5)


async def a_new_word_counts(user: Shopper) -> None:
    turn = await user.talking.curated(await user.says("记住我对坚果过敏", new_session=True))
    assert turn["status"] == "completed", turn
    assert "nut_allergy" in await user.talking.facts()
    reply = (await user.talking.ended(await user.says(f"{ECHO}你记得什么")))["reply"]
    assert "坚果" in reply
    assert user.canary not in reply


@pytest.mark.parametrize("moment", MOMENTS)
async def test_cleared(user: Shopper, moment: Moment) -> None:
    await user.writes_it_down()
    await user.has_it_quoted()

    async def word() -> None:
        assert places_of(await user.rows(), user.canary)
        assert await user.is_in_redis(), "the progress of the turn that quoted it"
        cleared = await user.client.delete(user.url)
        assert (cleared.status_code, cleared.json()["facts"]) == (200, 1)

    await moment(user, f"{ECHO}你还记得什么", word)
    await everything_has_settled(user)
    rows = await user.rows()
    assert places_of(rows, user.canary) == []
    assert UNREADABLE not in {value for values in rows.values() for value in values}
    assert await user.is_in_redis() == []
    assert user.is_in_logs() == []
    await a_new_word_counts(user)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_deleted(user: Shopper, moment: Moment) -> None:
    said = f"记住，{user.value}"
    by_hand = f"{said}。[[offline:save=material_avoid|{user.value}|constraint]]"
    await user.talking.curated(await user.says(by_hand))
    assert user.canary in (await user.talking.facts())["material_avoid"]["value"]

    async def word() -> None:
        for key, fact in (await user.talking.facts()).items():
            if user.canary in fact["value"]:
                assert (await user.client.delete(f"{user.url}/{key}")).status_code == 204

    # The same again, by tool and by curator, and under another key.
    await moment(user, f"{by_hand}[[offline:curator.save=other_rule|{user.value}|constraint]]", word)
    await everything_has_settled(user)
    found = places_of(await user.rows(), user.canary)
    assert [place for place in found if place.startswith(MEMORIES)] == []
    assert user.is_in_logs() == []
    await a_new_word_counts(user)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_refused(user: Shopper, moment: Moment) -> None:
    # As escapes: the model's idea, which the user's own words do not hold.
    hidden = "".join(f"\\u{ord(character):04x}" for character in user.value)
    idea = f'[[offline:call=save_memory|{{"key":"style","value":"{hidden}","category":"preference"}}]]推荐一个双肩包'
    await user.talking.curated(await user.says(idea))
    (candidate,) = await user.candidates()
    assert candidate["value"] == user.value

    async def word() -> None:
        for waiting in await user.candidates():
            refused = await user.client.post(f"{user.url}/candidates/{waiting['candidate_id']}/refuse")
            assert refused.status_code in (204, 404)

    await moment(user, idea, word)
    await everything_has_settled(user)
    found = places_of(await user.rows(), user.canary)
    assert [place for place in found if place.startswith(MEMORIES)] == []
    assert await user.candidates() == []
    assert user.is_in_logs() == []
    await a_new_word_counts(user)


@pytest.mark.parametrize("moment", MOMENTS)
async def test_erased(user: Shopper, moment: Moment) -> None:
    await user.writes_it_down()
    await user.has_it_quoted()

    async def word() -> None:
        assert places_of(await user.rows(), user.canary)
        erased = await user.client.delete(f"/api/users/{user.talking.user}")
        assert erased.status_code == 200, erased.text
        assert erased.json()["rows"]["turns"] >= 2

    await moment(user, f"{ECHO}记住，{user.value}", word)
    await everything_has_settled(user)
    rows = await user.rows()
    assert {place.partition(".")[0] for place in rows} == {"users", "user_keys"}
    assert places_of(rows, user.canary) == []
    assert await user.is_in_redis() == []
    assert user.is_in_logs() == []
    assert (await user.client.get("/api/sessions")).json()["sessions"] == []
    await a_new_word_counts(user)


async def test_all_at_once(user: Shopper) -> None:
    """Clears, edits and erasures by one user while their turns run; what comes after the last of them is kept."""
    for _ in range(3):
        await user.writes_it_down()
        await user.says(f"{ECHO}你记得什么{SLOWLY}", new_session=True)
        await asyncio.gather(
            user.client.delete(user.url),
            user.client.delete(f"/api/users/{user.talking.user}"),
            user.client.delete(f"{user.url}/material_avoid"),
            user.client.put(f"{user.url}/style", json={"value": "简约"}),
        )
    await user.client.delete(f"/api/users/{user.talking.user}")
    await everything_has_settled(user)
    assert places_of(await user.rows(), user.canary) == []
    assert await user.is_in_redis() == []
    await a_new_word_counts(user)
