"""A prompt as an inference server sees it: pieces of text and control tokens first, then token ids.

The pieces are the same whatever simulated cache reads them; only the ends of content blocks, which explicit cache
marks refer to, are noted on the way.
"""

from array import array
from dataclasses import dataclass
from enum import Enum


class Control(Enum):
    """Tokens that a template sets by id. The same characters inside a message are plain text."""

    MESSAGE_START = "<|im_start|>"
    MESSAGE_END = "<|im_end|>"
    THINK = "<think>"
    THINK_END = "</think>"
    TOOL_CALL = "<tool_call>"
    TOOL_CALL_END = "</tool_call>"
    TOOL_RESPONSE = "<tool_response>"
    TOOL_RESPONSE_END = "</tool_response>"


@dataclass(frozen=True)
class BlockEnd:
    """A content block ends here; `marked`: with `cache_control`."""

    marked: bool = False


Piece = str | Control | BlockEnd


@dataclass(frozen=True)
class Prompt:
    tokens: "array[int]"
    block_ends: tuple[int, ...] = ()
    """For each content block, in order: the number of tokens up to its end."""
    marks: tuple[int, ...] = ()
    """Positions in `block_ends` of the blocks that carry a mark."""

    def __len__(self) -> int:
        return len(self.tokens)
