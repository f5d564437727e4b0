"""From the session log to a request: pure functions, so that request N+1 extends request N byte for byte."""

import hashlib
from collections.abc import Sequence

from agent.context.release import Release
from common.memory_api.sessions import EntryKind, LogEntry
from model_client.requests import ModelRequest

_HASH_LENGTH = 16

LayeredTexts = list[tuple[str, str]]
"""What a request consists of: (layer, exact text), in order."""


def render_request(
    log: Sequence[LogEntry], release: Release, model: str, taken_call_ids: frozenset[str] = frozenset()
) -> ModelRequest:
    """The request for the next model call. Payloads go out exactly as they are stored."""
    return ModelRequest(
        model=model,
        messages=(release.system, *(entry.payload for entry in rendered_entries(log))),
        tools=release.tools,
        taken_call_ids=taken_call_ids,
    )


def rendered_entries(log: Sequence[LogEntry]) -> list[LogEntry]:
    """The entries that are messages, in order. (Compaction will let entries replace what stands before them.)"""
    return [entry for entry in log if entry.kind is EntryKind.MESSAGE]


def layered_texts(log: Sequence[LogEntry], release: Release) -> LayeredTexts:
    """The texts of the request that `render_request` makes of the same log."""
    head = [("L0", release.tools), ("L0", release.system)]
    return head + [(entry.layer.value, entry.payload) for entry in rendered_entries(log)]


def layer_hashes(texts: LayeredTexts) -> dict[str, str]:
    """A hash per layer, for the probe: it tells which layer of two requests was not the same."""
    digests = {layer: hashlib.sha256() for layer in sorted({layer for layer, _ in texts})}
    for layer, text in texts:
        digests[layer].update(text.encode() + b"\x00")
    return {layer: digest.hexdigest()[:_HASH_LENGTH] for layer, digest in digests.items()}


def first_differing_layer(before: LayeredTexts | None, now: LayeredTexts) -> str | None:
    """The layer in which `now` leaves what `before` had; None where it only extends it, or `before` is unknown."""
    for position, text in enumerate(before or ()):
        if position >= len(now) or now[position] != text:
            return text[0]
    return None
