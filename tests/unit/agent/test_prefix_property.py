"""Each request extends the one before it byte for byte, except directly after a prune or a summary."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.agent.memory_in_process import MemoryInProcess
from tests.unit.agent.random_sessions import SentRequest, play

from agent.context.replacements import summary_of
from common.memory_api.sessions import EntryKind, LogEntry
from common.memory_api.turns import ModelCallKind, PrefixBreak

ROOT = Path(__file__).parents[3]


def replaces(entry: LogEntry) -> bool:
    if entry.kind is EntryKind.SUMMARY:
        summary = summary_of(entry)
        return summary is not None and summary.message is not None
    return entry.kind is EntryKind.PRUNE


def broken_between(memory: MemoryInProcess, earlier: SentRequest, later: SentRequest) -> bool:
    return any(replaces(entry) for entry in memory.log[earlier.log_length : later.log_length])


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_each_request_extends_the_one_before(seed: int) -> None:
    memory, model = asyncio.run(play(Random(seed), turns=5))
    main = [sent for sent in model.sent if sent.kind is ModelCallKind.MAIN]
    for earlier, later in pairwise(main):
        if broken_between(memory, earlier, later):
            assert_same_head(earlier, later)
        else:
            assert_extends(earlier, later)
            assert later.request.body().startswith(earlier.request.body().removesuffix(b"]}"))
    for main_request, compaction in compactions(memory, model.sent):
        assert_extends(main_request, compaction)
    for sent in model.sent:
        assert_valid_conversation(sent)
    assert_explained(memory)


def assert_same_head(earlier: SentRequest, later: SentRequest) -> None:
    one, other = earlier.request, later.request
    assert (one.tools, one.model, one.messages[0]) == (other.tools, other.model, other.messages[0])


def assert_extends(earlier: SentRequest, later: SentRequest) -> None:
    assert_same_head(earlier, later)
    assert later.request.messages[: len(earlier.request.messages)] == earlier.request.messages


def compactions(memory: MemoryInProcess, sent: list[SentRequest]) -> Iterator[tuple[SentRequest, SentRequest]]:
    """Each request for a summary with the main one before it, unless results were pruned in between."""
    main: SentRequest | None = None
    for each in sent:
        if each.kind is ModelCallKind.MAIN:
            main = each
        elif main is not None and not broken_between(memory, main, each):
            yield main, each


def assert_explained(memory: MemoryInProcess) -> None:
    """The probe has a cause for every break it found, and found no more than there were."""
    answered = [call for call in memory.all_calls if call.kind is ModelCallKind.MAIN]
    for call in answered:
        assert (call.first_differing_layer is None) == (call.first_differing_cause is None)
        assert call.first_differing_cause in (None, PrefixBreak.PRUNE, PrefixBreak.SUMMARY)
    broken = sum(call.first_differing_cause is not None for call in answered)
    assert broken <= sum(replaces(entry) for entry in memory.log)


def assert_valid_conversation(sent: SentRequest) -> None:
    """As providers check it: every call has exactly one result before anything else is said."""
    open_calls: set[str] = set()
    for message in (json.loads(text) for text in sent.request.messages):
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_calls
            open_calls.remove(message["tool_call_id"])
            continue
        assert not open_calls, "something stands between a call and its result"
        open_calls = {call["id"] for call in message.get("tool_calls", ())}
    assert not open_calls


@pytest.mark.parametrize("seed", [7, 20_261])
def test_processes_with_other_hash_seeds_send_the_same_bytes(seed: int) -> None:
    def printed(hash_seed: str) -> tuple[str, str]:
        path = os.pathsep.join([str(ROOT), *sys.path])
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
        command = [sys.executable, "-m", "tests.unit.agent.random_sessions", str(seed), "8"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
        return ran.stdout.partition("\n==\n")[2], ran.stderr

    (one, one_hash), (other, other_hash) = printed("1"), printed("2")
    assert one_hash != other_hash, "the seeds were the same, so this shows nothing"
    assert len(one.splitlines()) > 20
    assert one == other
