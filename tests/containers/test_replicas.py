"""Any one container may be stopped at any time: no accepted turn is lost, and no event is missing or told twice."""

import asyncio

import httpx2
import pytest
from tests.containers.shoppers import followed, shopping
from tests.containers.system import SystemInContainers
from tests.support.conversation import SseEvent, conversation

from devstack.compose.project import run
from devstack.compose.system import REPLICATED

KILLED = 137
GATEWAY_PORT_IN_PROC = ":1F90"
ESTABLISHED = "01"

SLOW = "找一个通勤双肩包，500 元以内 [[offline:slow=0.05]]"


@pytest.mark.parametrize("service", REPLICATED)
async def test_one_replica_is_stopped_under_load(system: SystemInContainers, service: str) -> None:
    one, _ = await system.replicas(service)
    async with shopping(system) as shoppers:
        await shoppers.go_on()
        assert await system.stop(one) != KILLED, "it ends by itself within the grace period"
        await shoppers.go_on()
        await system.start(one)
        await shoppers.go_on()


async def test_one_agent_is_killed_under_load(system: SystemInContainers) -> None:
    """With the leases of production: its turns are taken up again within half a minute."""
    one, _ = await system.replicas("agent")
    async with shopping(system) as shoppers:
        await shoppers.go_on()
        await system.kill(one)
        await shoppers.go_on(6)
        await system.start(one)


async def test_a_rolling_restart_of_everything(system: SystemInContainers) -> None:
    """Also of what there is only one of: users see errors meanwhile, try again, and lose nothing."""
    async with shopping(system) as shoppers:
        for service in (*REPLICATED, "offline-model", "valkey", "postgres", "load-balancer"):
            for container in await system.replicas(service):
                assert await system.stop(container) != KILLED or service == "valkey"
                await system.start(container)
        await shoppers.go_on()


async def test_a_client_whose_gateway_stops_resumes_exactly(system: SystemInContainers) -> None:
    async with conversation(system) as user:
        turn_id = await user.say(SLOW)
        first: list[SseEvent] = []
        stopping: asyncio.Task[int] | None = None
        gateway = ""
        try:
            async for event in user.events(turn_id):
                first.append(event)
                if len(first) == 8:
                    gateway = await gateway_of_the_only_stream(system)
                    stopping = asyncio.create_task(system.stop(gateway))
        except httpx2.TransportError:
            pass  # cut off rather than ended: the same to a client
        assert stopping is not None
        assert not any(event.name == "turn.completed" for event in first), "the stream broke off before the end"
        rest = [event async for event in user.events(turn_id, after=first[-1].entry_id)]
        assert await stopping != KILLED
        await system.start(gateway)

        told = [event.entry_id for event in first + rest]
        whole = [event.entry_id for event in await followed(user, turn_id)]
        assert told == whole
        assert len(told) == len(set(told))
        assert rest[-1].name == "memory.updated"


async def gateway_of_the_only_stream(system: SystemInContainers) -> str:
    """The gateway that holds the one open connection from the load balancer."""
    holding = []
    for container in await system.replicas("gateway"):
        sockets = (await run("docker", "exec", container, "cat", "/proc/net/tcp")).splitlines()[1:]
        local_remote_state = [line.split()[1:4] for line in sockets]
        if any(local.endswith(GATEWAY_PORT_IN_PROC) and state == ESTABLISHED for local, _, state in local_remote_state):
            holding.append(container)
    (only,) = holding
    return only
