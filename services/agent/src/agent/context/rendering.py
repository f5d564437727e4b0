"""From the session log to a request: pure functions, so that request N+1 extends request N byte for byte.

The one exception is a `prune` or `summary` entry, which replaces messages once and for good.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.context.release import Release
from agent.context.replacements import Prune, Summary, prune_of, summary_of
from common.memory_api.sessions import EntryKind, LogEntry
from common.memory_api.turns import PrefixBreak
from model_client.exact_json import exact_json
from model_client.requests import ModelRequest

if TYPE_CHECKING:
    from hashlib import _Hash

_HASH_LENGTH = 16
_TOOL_RESULT = '{"role":"tool",'
_ANSWER = '{"role":"assistant",'
"""How these messages begin: `exact_json` writes the fields in the order in which they are given."""


@dataclass(frozen=True)
class Part:
    """One text of a request. `position` is that of its log entry; 0 for the release's texts and for a summary, which
    stands for entries and is none itself."""

    layer: str
    text: str
    position: int
    size: int
    """Bytes of the text."""
    digest: bytes

    @classmethod
    def of(cls, layer: str, text: str, position: int = 0) -> "Part":
        data = text.encode()
        return cls(layer, text, position, len(data), hashlib.sha256(data).digest())

    @property
    def is_tool_result(self) -> bool:
        return self.text.startswith(_TOOL_RESULT)

    @property
    def is_answer(self) -> bool:
        return self.text.startswith(_ANSWER)


class Rendering:
    """The request that a log makes. It never changes: `extended` gives the rendering of a longer log, for the price
    of the new entries."""

    def __init__(
        self,
        release: Release,
        parts: tuple[Part, ...],
        digests: "dict[str, _Hash]",
        size: int,
        log_position: int,
        broken_at: tuple[int, PrefixBreak] | None,
    ) -> None:
        self.release = release
        self.parts = parts
        """The messages, without the system message."""
        self._digests = digests
        self.size = size
        """Bytes of all texts, the release's included."""
        self.log_position = log_position
        """Position of the last log entry in it."""
        self.broken_at = broken_at
        """The last entry that replaced messages, and of which kind it was."""

    @classmethod
    def of(cls, release: Release, log: Iterable[LogEntry] = ()) -> "Rendering":
        digests, size = _measured({}, 0, [Part.of(layer, text) for layer, text in release.layers])
        return cls(release, (), digests, size, 0, None).extended(log)

    def extended(self, entries: Iterable[LogEntry]) -> "Rendering":
        """The rendering of the log with these entries at its end."""
        parts, position, broken_at = list(self.parts), self.log_position, self.broken_at
        for entry in entries:
            position = entry.position
            if entry.kind is EntryKind.MESSAGE:
                parts.append(Part.of(entry.layer.value, entry.payload, position))
            elif (replaced := _replaced(parts, entry)) is not None:
                parts, broken_at = replaced, (position, PrefixBreak(entry.kind.value))
        if broken_at is not self.broken_at:
            return self._measured_anew(tuple(parts), position, broken_at)
        digests, size = _measured(self._digests, self.size, parts[len(self.parts) :])
        return Rendering(self.release, tuple(parts), digests, size, position, broken_at)

    def _measured_anew(
        self, parts: tuple[Part, ...], position: int, broken_at: tuple[int, PrefixBreak] | None
    ) -> "Rendering":
        empty = Rendering.of(self.release)
        digests, size = _measured(empty._digests, empty.size, parts)
        return Rendering(self.release, parts, digests, size, position, broken_at)

    @property
    def messages(self) -> tuple[str, ...]:
        return (self.release.system, *(part.text for part in self.parts))

    @property
    def all_parts(self) -> tuple[Part, ...]:
        """The texts of the whole request, in the order in which a provider reads them."""
        return (*(Part.of(layer, text) for layer, text in self.release.layers), *self.parts)

    @property
    def layer_hashes(self) -> dict[str, str]:
        """A hash per layer, over those of its texts. It tells which layer of two requests was not the same."""
        return {layer: digest.hexdigest()[:_HASH_LENGTH] for layer, digest in sorted(self._digests.items())}


def render_request(
    rendering: Rendering,
    model: str,
    taken_call_ids: frozenset[str] = frozenset(),
    *,
    cache_key: str | None = None,
    appended: tuple[str, ...] = (),
) -> ModelRequest:
    """The request for a model call: payloads go out exactly as they are stored.

    `cache_key` is for providers that route by it. `appended` is for a side call on the same prefix, which the
    conversation never sees.
    """
    return ModelRequest(
        model=model,
        messages=(*rendering.messages, *appended),
        tools=rendering.release.tools,
        taken_call_ids=taken_call_ids,
        cache_key=cache_key,
    )


def _measured(digests: "dict[str, _Hash]", size: int, more: Iterable[Part]) -> "tuple[dict[str, _Hash], int]":
    """The digests and the size with more texts taken in; the ones given stay as they are."""
    extended = {layer: digest.copy() for layer, digest in digests.items()}
    for part in more:
        extended.setdefault(part.layer, hashlib.sha256()).update(part.digest)
        size += part.size
    return extended, size


def _replaced(parts: list[Part], entry: LogEntry) -> list[Part] | None:
    """The parts as an entry that replaces messages leaves them; None where it replaces nothing."""
    if entry.kind is EntryKind.PRUNE:
        prune = prune_of(entry)
        return None if prune is None else _pruned(parts, prune)
    summary = summary_of(entry)
    return None if summary is None or summary.message is None else _summarised(parts, summary, summary.message)


def _pruned(parts: list[Part], prune: Prune) -> list[Part]:
    positions = frozenset(prune.positions)
    return [
        Part.of(part.layer, _placeholder(part.text, prune.placeholder), part.position)
        if part.position in positions and part.is_tool_result
        else part
        for part in parts
    ]


def _placeholder(tool_result: str, placeholder: str) -> str:
    call_id = json.loads(tool_result)["tool_call_id"]
    return exact_json({"role": "tool", "tool_call_id": call_id, "content": placeholder})


def _summarised(parts: list[Part], summary: Summary, message: str) -> list[Part]:
    kept = frozenset(summary.kept)
    stays = [part for part in parts if part.position in kept or part.position >= summary.tail_from]
    return [Part.of("L3", message), *stays]
