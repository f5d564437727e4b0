"""What must hold of every session's log, whatever the model did: it is valid, and it only ever grows.

The requests themselves are not recorded here. They are rendered from the log alone (`agent/context/rendering.py`, held
to it by tests/unit/agent/test_prefix_property.py); what the model's simulated cache recognised tells that the bytes
which arrived over the network did extend each other.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from common.memory_api.sessions import EntryKind, LogEntry
from common.memory_api.turns import ModelCallKind, PrefixBreak
from common.memory_api.usage import TurnModelCall

_CACHE_BLOCK = 128
"""Tokens: what the offline model's cache counts in, unless it is told otherwise."""


def faults_of_log(log: Sequence[LogEntry]) -> list[str]:
    """As providers check it: every call has exactly one result before anything else is said."""
    faults: list[str] = []
    open_calls: set[str] = set()
    for entry in log:
        if entry.kind is not EntryKind.MESSAGE:
            continue
        message = entry.message
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_calls:
                faults.append(f"entry {entry.position}: a result without its call")
            open_calls.discard(str(message.get("tool_call_id")))
            continue
        if open_calls:
            faults.append(f"entry {entry.position}: it stands between a call and its result")
        if "role" not in message:
            faults.append(f"entry {entry.position}: it is no message")
        open_calls = {call["id"] for call in message.get("tool_calls", ())}
    if open_calls:
        faults.append("a call has no result")
    return faults


def faults_of_growth(before: Sequence[LogEntry], after: Sequence[LogEntry]) -> list[str]:
    """What was there stays as it was, byte for byte."""
    if len(after) <= len(before):
        return [f"the log did not grow: {len(before)} entries, now {len(after)}"]
    return [
        f"entry {earlier.position} was rewritten"
        for earlier, later in zip(before, after, strict=False)
        if (earlier.entry_id, earlier.payload) != (later.entry_id, later.payload)
    ]


def faults_of_requests(calls: Iterable[TurnModelCall]) -> list[str]:
    """Each request of the main model extends the one before it, as the agent's probe and the model's cache saw it."""
    main = [call for call in calls if call.kind is ModelCallKind.MAIN]
    faults = [
        f"main call {call.call_number} of turn {call.turn_number} differs in {call.first_differing_layer}"
        for call in main
        if call.first_differing_layer is not None and call.first_differing_cause not in _MAY_BREAK
    ]
    for before, call in pairwise(main):
        recognised = before.prompt_tokens is None or _recognised(before.prompt_tokens, call)
        if call.first_differing_cause not in _MAY_BREAK and not recognised:
            faults.append(
                f"main call {call.call_number} of turn {call.turn_number}: the cache knew {call.cached_tokens} of the "
                f"{before.prompt_tokens} tokens before it"
            )
    return faults


_MAY_BREAK = (PrefixBreak.PRUNE, PrefixBreak.SUMMARY)


def _recognised(tokens_before: int, call: TurnModelCall) -> bool:
    return call.cached_tokens is None or call.cached_tokens >= tokens_before - 2 * _CACHE_BLOCK
