"""Events pass the load balancer as they are written. An event's id starts with the milliseconds of its writing."""

import time
from statistics import median

import pytest
from tests.containers.system import SystemInContainers
from tests.support.conversation import conversation

TURNS = 7
SLOW = "找一个通勤双肩包，500 元以内 [[offline:slow=0.05]]"
AT_MOST_MILLISECONDS = 100.0


async def test_the_first_event_arrives_within_100_ms_of_being_written(
    system: SystemInContainers, capsys: pytest.CaptureFixture[str]
) -> None:
    first: list[float] = []
    texts: list[float] = []
    async with conversation(system) as user:
        for _ in range(TURNS):
            delays = []
            async for event in user.events(await user.say(SLOW)):
                assert event.entry_id is not None, "a snapshot says that something was lost"
                delay = time.time() * 1000 - int(event.entry_id.partition("-")[0])
                if event.name == "text.delta":
                    texts.append(delay)
                delays.append(delay)
            first.append(delays[0])
    with capsys.disabled():
        print(  # noqa: T201 - the measurement
            f"\nfirst event after ms: median {median(first):.0f}, all {[round(delay) for delay in first]}; "
            f"text: median {median(texts):.0f}, most {max(texts):.0f} of {len(texts)}"
        )
    assert median(first) < AT_MOST_MILLISECONDS
    assert median(texts) < AT_MOST_MILLISECONDS
    assert max(texts) < 10 * AT_MOST_MILLISECONDS, "a buffer would hold a slow answer back for seconds"
