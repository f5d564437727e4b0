"""Counts what a call cost, in the fields a provider reports."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from offline_model.chat.answer import Answer
from offline_model.chat.requests import ChatRequest
from offline_model.chat.template import render_answer, render_prompt
from offline_model.errors import InvalidRequest
from offline_model.prefix_cache.simulation import PrefixCache
from offline_model.tokens import QwenTokens


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cache_write_tokens: int | None = None
    """None where the provider does not report writing."""
    reasoning_tokens: int = 0

    def body(self) -> dict[str, Any]:
        details = {"cached_tokens": self.cached_tokens}
        if self.cache_write_tokens is not None:
            details["cache_creation_input_tokens"] = self.cache_write_tokens
        body: dict[str, Any] = {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": details,
        }
        if self.reasoning_tokens:
            body["completion_tokens_details"] = {"reasoning_tokens": self.reasoning_tokens}
        return body


@dataclass(frozen=True)
class Measured:
    usage: Usage
    keep: Callable[[], None]
    """Leaves the request in the cache; to be called when the answer has ended."""


class UsageMeter:
    """Not for use by several threads at once: the caches change with every measurement."""

    def __init__(self, tokens: QwenTokens, cache: PrefixCache, context_window: int) -> None:
        """`context_window`: tokens of the longest prompt that is accepted."""
        self._tokens = tokens
        self._cache = cache
        self._context_window = context_window

    def measure(self, request: ChatRequest, raw_tools: list[dict[str, Any]], answer: Answer) -> Measured:
        """Raises InvalidRequest for a prompt that is too long, and where the cache's provider would refuse it."""
        prompt = self._tokens.prompt(render_prompt(request, raw_tools))
        if len(prompt) > self._context_window:
            raise InvalidRequest(
                f"this model's maximum context length is {self._context_window} tokens, "
                f"but the messages resulted in {len(prompt)} tokens",
                "context_length_exceeded",
            )
        said = self._tokens.prompt(render_answer(request, answer.reasoning, answer.text, answer.calls)).tokens
        found = self._cache.read(request.model, prompt)
        usage = Usage(
            prompt_tokens=len(prompt),
            cached_tokens=found.cached,
            completion_tokens=len(said) + 1,
            cache_write_tokens=found.written,
            reasoning_tokens=len(self._tokens.prompt([answer.reasoning])) if request.thinks else 0,
        )
        return Measured(usage, partial(self._cache.keep, request.model, prompt, said))

    def empty_the_cache(self) -> None:
        self._cache.clear()
