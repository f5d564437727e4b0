"""How long a conversation may get, and how long it is."""

from dataclasses import dataclass

from agent.context.probe import SentRequest
from agent.context.rendering import Rendering

_BYTES_PER_TOKEN = 3.0
"""For text whose tokens nobody has counted yet. Chinese, English and JSON all have more bytes to a token than this,
so the estimate errs on the long side."""


@dataclass(frozen=True)
class ContextLimits:
    """`window` is the model's context in tokens; the others are shares of it."""

    window: int
    prune_at: float = 0.5
    """Tool results of this share are too many; half of it is left."""
    compact_at: float = 0.8
    """A request of this share is summarised."""
    keep: float = 0.15
    """Of the recent conversation, this much stands behind a summary as it was."""
    progress: float = 0.6
    """A summary that leaves more than this is of no use."""


def estimated_tokens(rendering: Rendering, sent: SentRequest | None) -> float:
    """Tokens of the request: those of the last one as its provider counted them, and an estimate for what is new."""
    if sent is None or sent.prompt_tokens is None:
        return rendering.size / _BYTES_PER_TOKEN
    added = rendering.size - sent.rendering.size
    if added >= 0:
        return sent.prompt_tokens + added / _BYTES_PER_TOKEN
    return sent.prompt_tokens * rendering.size / sent.rendering.size


def bytes_of_tokens(tokens: float, sent: SentRequest | None) -> int:
    """Bytes of text like this conversation's that make that many tokens."""
    if sent is None or not sent.prompt_tokens:
        return round(tokens * _BYTES_PER_TOKEN)
    return round(tokens * sent.rendering.size / sent.prompt_tokens)
