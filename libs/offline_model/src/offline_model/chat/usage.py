"""Counts what a call cost, in the fields a provider reports."""

from dataclasses import dataclass
from typing import Any

from offline_model.chat.answer import Answer
from offline_model.chat.requests import ChatRequest
from offline_model.chat.template import render_answer, render_prompt
from offline_model.prefix_cache import PrefixCache
from offline_model.tokens import QwenTokens


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int

    def body(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.prompt_tokens + self.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": self.cached_tokens},
        }


class UsageMeter:
    """Not for use by several threads at once: the caches change with every measurement."""

    def __init__(self, tokens: QwenTokens, cache: PrefixCache) -> None:
        self._tokens = tokens
        self._cache = cache

    def measure(self, request: ChatRequest, raw_tools: list[dict[str, Any]], answer: Answer) -> Usage:
        prompt = self._tokens.of_prompt(render_prompt(request, raw_tools))
        return Usage(
            prompt_tokens=len(prompt),
            cached_tokens=self._cache.match_and_store(request.model, prompt),
            completion_tokens=self._tokens.count(render_answer(answer.text, answer.calls)) + 1,
        )
