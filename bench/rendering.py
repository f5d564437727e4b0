"""What rendering a request costs: `python -m bench.rendering`. The last line of the output is JSON.

Sessions of up to 4,000 log entries of about the size that real ones have, without a database or a model.

- **step_ms**: what one model call pays: the log's new entries taken in, the probe's comparison with the request before,
  the hashes of the layers, and the exact bytes of the request.
- **without_bytes_ms**: the same up to the texts, without joining them into one body; the body is sent in any case.
- **claim_ms**: the first call of a turn in a process that has never seen the session: the whole log is rendered.
"""

import argparse
import json
import time
from collections.abc import Callable
from statistics import median
from uuid import uuid4

from agent.app import current_release
from agent.context.entries import EntryFactory
from agent.context.probe import SentRequest, first_difference
from agent.context.release import Release
from agent.context.rendering import Rendering, render_request
from agent.skills.catalogue import builtin_skills
from agent.tools.registry import build_tools
from common.clock import SystemClock
from common.ids import new_id
from common.memory_api.sessions import LogEntry, NewLogEntry
from model_client.answers import ModelAnswer, ToolCall, assistant_payload
from model_client.profiles import PROFILES
from model_client.usage import ModelUsage

SIZES = (100, 500, 1_000, 4_000)
NEW_ENTRIES = 3
MAKE = EntryFactory(new_id, PROFILES["generic"])


def log_of(length: int) -> list[LogEntry]:
    """Turns of a user's words, a memory block, two searches and an answer; 4 KB a search."""
    turn: list[NewLogEntry] = []
    entries: list[LogEntry] = []
    turn_id = uuid4()
    while len(entries) < length:
        if not turn:
            turn, turn_id = new_turn(len(entries)), uuid4()
        entries.append(LogEntry(**turn.pop(0).model_dump(), position=len(entries) + 1, turn_id=turn_id))
    return entries


def new_turn(number: int) -> list[NewLogEntry]:
    entries = [MAKE.user_message(f"找第 {number} 个双肩包，500 以内"), MAKE.memory_block("记忆：对坚果过敏" * 10, [])]
    for step in range(2):
        call = ToolCall(f"call_{number}_{step}", "item_search", '{"query":"双肩包"}')
        answer = ModelAnswer(assistant_payload("", (call,)), "", (call,), "tool_calls", ModelUsage(), 1, 1)
        entries.append(MAKE.answer(answer, bears_memory=False))
        entries.append(MAKE.tool_result(call.call_id, "商品：通勤双肩包，399 元；" * 130))
    answer = ModelAnswer(assistant_payload("这几款不错。" * 20, ()), "", (), "stop", ModelUsage(), 1, 1)
    return [*entries, MAKE.answer(answer, bears_memory=False)]


def milliseconds(work: Callable[[], object], repeats: int) -> float:
    """The median, in time of the processor: what others do on this machine is not in it."""
    taken: list[float] = []
    for _ in range(repeats):
        begun = time.thread_time()
        work()
        taken.append((time.thread_time() - begun) * 1_000)
    return round(median(taken), 4)


def measure(release: Release, length: int, repeats: int) -> dict[str, float]:
    log = log_of(length)
    before, new = Rendering.of(release, log[:-NEW_ENTRIES]), log[-NEW_ENTRIES:]
    sent = SentRequest(before, before.layer_hashes, None)

    def texts() -> Rendering:
        rendering = before.extended(new)
        assert first_difference(sent, rendering) is None
        assert rendering.layer_hashes
        return rendering

    return {
        "step_ms": milliseconds(lambda: render_request(texts(), "m").body(), repeats),
        "without_bytes_ms": milliseconds(texts, repeats),
        "claim_ms": milliseconds(lambda: render_request(Rendering.of(release, log), "m").body(), repeats),
        "body_kb": round(len(render_request(texts(), "m").body()) / 1_024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    skills = builtin_skills()
    release = current_release(build_tools(None, skills, SystemClock()), skills)  # type: ignore[arg-type]
    figures = {str(length): measure(release, length, repeats) for length in SIZES}
    for length, figure in figures.items():
        print(f"{length:>6} entries  {figure}")
    print(json.dumps({"entries": figures}))


if __name__ == "__main__":
    main()
