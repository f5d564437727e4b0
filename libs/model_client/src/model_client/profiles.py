"""Differences between providers, as data."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ProviderProfile:
    """`memory_role` is the role of messages that the system adds in mid-conversation. Qwen's chat templates
    refuse a `system` message anywhere but at the start, so `user` is the safe choice."""

    name: str
    memory_role: Literal["system", "user"] = "user"
    echo_reasoning: bool = False


PROFILES = {
    profile.name: profile
    for profile in (
        ProviderProfile("generic"),
        ProviderProfile("openai", memory_role="system"),
        ProviderProfile("qwen", echo_reasoning=True),
        ProviderProfile("deepseek", memory_role="system", echo_reasoning=True),
    )
}
