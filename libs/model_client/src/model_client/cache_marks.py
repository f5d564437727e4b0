"""Marks for providers that cache only up to a mark, put into the messages when a request is rendered.

A mark stands in a content block, so messages that may ever carry one are always in block form: a mark that moves on
changes no other byte of the message it leaves, and the model never sees it. At most four are set, which is what
providers take, and none where the prefix may be shorter than what they cache.

Besides the system message, the ends of this request and of the two before it are marked. A request ended where the
model's answer now begins, so the messages alone tell: the cache that the last request wrote is found by the very
same mark, however many blocks this one added, and a request whose cache was never written costs only itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from json import JSONDecoder

from model_client.exact_json import exact_json
from model_client.profiles import CacheMarks, ProviderProfile

_TAIL_MARKS_MAX = 3
_BYTES_PER_TOKEN = 5
"""More than Qwen's tokenizer makes of our texts (prompts 4.2, search results 2.7), so that counts come out low."""

_UP_TO_TEXT = re.compile(r'\{"role":"(?:system|user|assistant|tool)",(?:"tool_call_id":"[^"\\]*",)?"content":(?="[^"])')
"""A message as exact_json writes it, up to its text. Empty texts are not matched: no block may be empty."""

_JSON = JSONDecoder()


def marked_messages(messages: Sequence[str], tools: str | None, profile: ProviderProfile) -> Sequence[str]:
    """The messages as this provider gets them. The same messages always become the same bytes."""
    if profile.marks is CacheMarks.NONE:
        return messages
    marked = _marked_positions(messages, tools, profile)
    mark = exact_json(profile.mark)[1:-1]
    in_blocks = len(messages) if profile.marks is CacheMarks.SYSTEM_AND_TAIL else min(1, len(messages))
    return [
        *(_in_block_form(messages[position], mark if position in marked else "") for position in range(in_blocks)),
        *messages[in_blocks:],
    ]


def _in_block_form(message: str, mark: str) -> str:
    before = _UP_TO_TEXT.match(message)
    if before is None:
        return message
    begin = before.end()
    _, end = _JSON.raw_decode(message, begin)
    block = f'{{"type":"text","text":{message[begin:end]}{"," if mark else ""}{mark}}}'
    return f"{message[:begin]}[{block}]{message[end:]}"


def _marked_positions(messages: Sequence[str], tools: str | None, profile: ProviderProfile) -> frozenset[int]:
    wanted = [0] if messages and messages[0].startswith('{"role":"system"') else []
    if profile.marks is CacheMarks.SYSTEM_AND_TAIL:
        ends = dict.fromkeys(end for end in _request_ends(messages) if end not in wanted)
        wanted.extend(list(ends)[:_TAIL_MARKS_MAX])
    return frozenset(
        position
        for position in wanted
        if _reaches(profile.cache_minimum, chain((tools or "",), islice(messages, position + 1)))
    )


def _request_ends(messages: Sequence[str]) -> Iterator[int]:
    """Positions of the last message of this request and of those before it, newest first."""
    yield len(messages) - 1
    for position in range(len(messages) - 1, 0, -1):
        if messages[position].startswith('{"role":"assistant"'):
            yield position - 1


def _reaches(minimum: int, texts: Iterable[str]) -> bool:
    """Whether the texts together have at least `minimum` tokens."""
    missing = minimum * _BYTES_PER_TOKEN
    for text in texts:
        missing -= len(text.encode())
        if missing <= 0:
            return True
    return False
