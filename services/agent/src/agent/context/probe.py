"""The probe: where a request leaves the one before it, and why. So every miss of a provider's cache has a reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.context.rendering import Part, Rendering
from common.memory_api.turns import PrefixBreak


@dataclass(frozen=True)
class SentRequest:
    """The session's last main request that was answered, rendered again where another process sent it.

    `shared_hashes` are those of L0 and L1 as they were then: they tell whether that process had another release.
    `prompt_tokens` are as the provider counted them.
    """

    rendering: Rendering
    shared_hashes: Mapping[str, str]
    prompt_tokens: int | None


@dataclass(frozen=True)
class Difference:
    """`position` counts the characters that both requests' texts share; unknown where the old text is gone."""

    layer: str
    position: int | None
    cause: PrefixBreak | None


def first_difference(before: SentRequest | None, now: Rendering) -> Difference | None:
    """Where `now` leaves what `before` had; None where it only extends it, or nothing is known of one before."""
    if before is None:
        return None
    hashes = now.layer_hashes
    for layer in ("L0", "L1"):
        if before.shared_hashes.get(layer, hashes[layer]) != hashes[layer]:
            return Difference(layer, None, PrefixBreak.RELEASE)
    found = _first_difference(before.rendering.all_parts, now.all_parts)
    if found is None:
        return None
    broken_since = now.broken_at is not None and now.broken_at[0] > before.rendering.log_position
    return Difference(*found, now.broken_at[1] if broken_since and now.broken_at is not None else None)


def _first_difference(before: Sequence[Part], now: Sequence[Part]) -> tuple[str, int] | None:
    shared = 0
    for index, part in enumerate(before):
        other = now[index].text if index < len(now) else ""
        if part.text != other:
            return part.layer, shared + _shared_characters(part.text, other)
        shared += len(part.text)
    return None


def _shared_characters(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
