"""What every simulated cache can do: tell what a prompt finds in it, and keep what a request left."""

from array import array
from dataclasses import dataclass
from typing import Protocol

from offline_model.prompts import Prompt


@dataclass(frozen=True)
class CacheRead:
    cached: int
    """Leading tokens of the prompt that were read from the cache; never all of them."""
    written: int | None = None
    """Tokens that are written to the cache at a price; None where writing costs nothing and is not reported."""


class PrefixCache(Protocol):
    """One cache serves all users and sessions, as a provider's does, and keeps models apart."""

    def read(self, model: str, prompt: Prompt) -> CacheRead:
        """What this prompt finds. Raises InvalidRequest where the provider would refuse it."""

    def keep(self, model: str, prompt: Prompt, answer: "array[int]") -> None:
        """Called once the answer has ended; until then no other request finds anything of this one."""

    def clear(self) -> None: ...
