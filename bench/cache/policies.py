"""What each simulated cache promises for texts that it has seen, and what providers of its kind charge.

The numbers are the policies' documented ones (docs/decisions/0021), written here once more: what the bench expects must
not come from the code that it checks.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """Credit in whole blocks of `block` tokens, from `minimum` tokens on.

    `whole_requests`: credit only for an entire earlier request, not for a part of it. `far_back`: also for one that
    ended long before this request's end; with marks only what lies a few messages back is found. `read_price` and
    `write_price` are what a token costs that is read from the cache or written to it, in prices of an ordinary one.
    """

    block: int
    minimum: int
    whole_requests: bool
    far_back: bool
    read_price: float
    write_price: float
    like: str

    def rounded(self, tokens: int) -> int:
        whole = tokens // self.block * self.block
        return whole if whole >= self.minimum else 0

    def cost(self, prompt: int, cached: int, written: int) -> float:
        """What the prompt costs, in prices of an ordinary token. Written tokens are part of the rest."""
        return prompt - cached - written + cached * self.read_price + written * self.write_price


POLICIES: Mapping[str, Policy] = {
    "block16": Policy(16, 16, False, True, 0.20, 1.0, "vLLM; no list price, counted like DashScope"),
    "block64": Policy(64, 64, False, True, 0.10, 1.0, "DeepSeek V3"),
    "block128": Policy(128, 1_024, False, True, 0.10, 1.0, "OpenAI up to GPT-5.5"),
    "block256": Policy(256, 256, False, True, 0.20, 1.0, "DashScope, implicit"),
    "block528": Policy(
        528, 528, False, True, 0.20, 1.0, "vLLM with hybrid models; no list price, counted like DashScope"
    ),
    "exact": Policy(1, 0, True, True, 0.10, 1.0, "DeepSeek V4, without what it detects by itself"),
    "marks": Policy(1, 1_024, True, False, 0.10, 1.25, "Anthropic; DashScope, explicit"),
}

REFERENCE = "block128"
"""The policy that the aims are set for."""
