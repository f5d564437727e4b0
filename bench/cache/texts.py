"""What of each request had been sent before, told from the requests' texts alone.

Two questions about every call, independent of how the agent renders and of how a cache counts:

- **ceiling**: how many of its tokens belong to messages that an earlier request had too, wherever they stand. That is
  the most any order of the same texts could have read from a cache. A message that an earlier request had once and
  this one has twice counts once.
- **owed**: how many tokens it shares with an earlier request from the start on, in whole messages. That is what a cache
  has to give; less is a break.

Tokens are counted by the template and the tokenizer of the simulated server; tools are part of the first message.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from bench.cache.calls import Call, text_of
from bench.cache.policies import Policy

from common.memory_api.turns import ModelCallKind
from offline_model.chat.requests import ChatRequest
from offline_model.chat.template import render_prompt
from offline_model.tokens import QwenTokens

_PRUNED = "[pruned:"
_SUMMARY = "<session_summary>"


class Break(StrEnum):
    """Why a request of the main prefix does not begin with the one before it."""

    PRUNE = "prune"
    SUMMARY = "summary"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Texts:
    """Tokens of one call: in all, in messages that were sent before, in the longest beginning that it shares with an
    earlier request (in whole messages), and in the longest earlier request that it begins with as a whole, with the
    model's answer after it."""

    total: int
    seen: int
    shared: int
    whole: int
    broken_by: Break | None

    def ceiling(self, policy: Policy) -> int:
        return policy.rounded(self.seen)

    def owed(self, policy: Policy) -> int:
        if not policy.whole_requests:
            return policy.rounded(min(self.shared, self.total - 1))
        return policy.rounded(self.whole if policy.far_back or self.broken_by is None else 0)


@dataclass
class _Node:
    """A beginning that some request had: its messages lead here from the root."""

    following: dict[str, "_Node"] = field(default_factory=dict)
    is_request: bool = False


class TextsSent:
    """Give it every call, in order."""

    def __init__(self, tokens: QwenTokens) -> None:
        self._tokens = tokens
        self._roots: dict[tuple[str, str | None], _Node] = {}
        self._most: dict[str, Counter[str]] = {}
        self._last_main: dict[int, Call] = {}

    def of_all(self, calls: Iterable[Call]) -> list[Texts]:
        return [self.add(call) for call in calls]

    def add(self, call: Call) -> Texts:
        total, sizes = self._sizes(call)
        shared, whole = self._beginning(call)
        texts = Texts(total, self._seen(call, sizes), sum(sizes[:shared]), sum(sizes[:whole]), self._break(call))
        self._remember(call)
        return texts

    def _sizes(self, call: Call) -> tuple[int, list[int]]:
        """Tokens of the whole prompt, and of each message (up to the end of its last content block)."""
        body = json.loads(call.body())
        tools = body.get("tools") or []
        prompt = self._tokens.prompt(render_prompt(ChatRequest.model_validate(body), tools))
        ends = [0, *prompt.block_ends]
        sizes: list[int] = []
        block = len(tools)
        last_end = 0
        for message in body["messages"]:
            block += _blocks(message)
            sizes.append(ends[block] - last_end)
            last_end = ends[block]
        return len(prompt), sizes

    def _seen(self, call: Call, sizes: list[int]) -> int:
        most = self._most.get(call.model, Counter())
        used: Counter[str] = Counter()
        seen = 0
        for text, size in zip(_identified(call), sizes, strict=True):
            used[text] += 1
            if used[text] <= most[text]:
                seen += size
        return seen

    def _beginning(self, call: Call) -> tuple[int, int]:
        """How many leading messages an earlier request had too, and how many the longest earlier one had in all."""
        node = self._roots.get((call.model, call.tools))
        shared = whole = 0
        for position, text in enumerate(call.messages):
            node = None if node is None else node.following.get(text)
            if node is None:
                break
            shared = position + 1
            if node.is_request and _answer_follows(call, shared):
                whole = shared
        return shared, whole

    def _break(self, call: Call) -> Break | None:
        before = self._last_main.get(call.session)
        if not call.on_main_prefix or before is None:
            return None
        if call.tools == before.tools and call.messages[: len(before.messages)] == before.messages:
            return None
        return _cause(before, call)

    def _remember(self, call: Call) -> None:
        node = self._roots.setdefault((call.model, call.tools), _Node())
        for text in call.messages:
            node = node.following.setdefault(text, _Node())
        node.is_request = True
        self._most[call.model] = self._most.get(call.model, Counter()) | Counter(_identified(call))
        if call.kind is ModelCallKind.MAIN:
            self._last_main[call.session] = call


def _identified(call: Call) -> Iterator[str]:
    """The messages; the first one together with the tools that stand before it."""
    first, *others = call.messages
    yield f"{call.tools or ''}{first}"
    yield from others


def _blocks(message: dict[str, object]) -> int:
    content, calls = message.get("content"), message.get("tool_calls") or []
    assert isinstance(calls, list)
    return (len(content) if isinstance(content, list) else bool(content)) + len(calls)


def _answer_follows(call: Call, position: int) -> bool:
    return position < len(call.messages) and json.loads(call.messages[position]).get("role") == "assistant"


def _cause(before: Call, now: Call) -> Break:
    """What is new in `now` says why it does not begin with `before`."""
    had = set(before.messages)
    new = [json.loads(text) for text in now.messages if text not in had]
    if now.tools == before.tools and now.messages[0] == before.messages[0]:
        if any(text_of(message).startswith(_SUMMARY) for message in new):
            return Break.SUMMARY
        if any(message.get("role") == "tool" and text_of(message).startswith(_PRUNED) for message in new):
            return Break.PRUNE
    return Break.UNEXPLAINED
