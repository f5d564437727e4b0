"""Differences between providers, as data. `python -m model_client` prints them as docs/providers.md.

What a provider does is taken from its documentation of 2026 (facts/context.md names the pages); minimums and windows
change, so a setting overrides the window, and what is cached is seen in the usage that is reported.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal


class CacheMarks(StrEnum):
    """Where a request carries marks up to which the provider is to cache."""

    NONE = "none"
    SYSTEM = "system"
    """After the system message. For providers that cache the rest by themselves."""
    SYSTEM_AND_TAIL = "system_and_tail"
    """Also at the ends of this request and of the two before it. For providers that cache nothing without a mark."""


class ResponseFormats(StrEnum):
    """The most that the provider makes of a JSON schema given as `response_format`."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    """It promises JSON; the shape is for the prompt to say."""
    PROMPT = "prompt"
    """It promises nothing."""


class UsageShape(StrEnum):
    """Where the provider reports cached tokens. Documentation: one normaliser reads all shapes."""

    DETAILS = "prompt_tokens_details.cached_tokens"
    HIT_AND_MISS = "prompt_cache_hit_tokens"
    DISJOINT = "cache_read_input_tokens"
    NOTHING = "not reported"


@dataclass(frozen=True)
class ThinkingSwitch:
    """Fields of the body that turn thinking on and off."""

    on: Mapping[str, Any]
    off: Mapping[str, Any]


@dataclass(frozen=True)
class ProviderProfile:
    """`memory_role` is the role of messages that the system adds in mid-conversation. Qwen's chat templates refuse a
    `system` message anywhere but at the start and others move it there, so `user` is the safe choice.

    `context_tokens` is the window and `cache_minimum` the shortest prefix that is cached, both in tokens. `always` are
    fields of every body, `left_out` options that the provider refuses, `reasoning_field` where an answer's reasoning
    is echoed. `forced_tool_while_thinking`: whether `tool_choice` may force a call unless thinking is off.
    `answer_in_reasoning` takes the reasoning for the answer where there is no other; only a setting turns that on.
    """

    name: str
    context_tokens: int = 131_072
    memory_role: Literal["system", "user"] = "user"
    marks: CacheMarks = CacheMarks.NONE
    mark: Mapping[str, Any] = field(default_factory=lambda: {"cache_control": {"type": "ephemeral"}})
    cache_minimum: int = 1_024
    cache_key: bool = False
    thinking: ThinkingSwitch | None = None
    reasoning_field: Literal["reasoning_content", "reasoning"] | None = None
    always: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    include_usage: bool = True
    usage: UsageShape = UsageShape.DETAILS
    response_format: ResponseFormats = ResponseFormats.JSON_SCHEMA
    forced_tool_while_thinking: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    left_out: frozenset[str] = frozenset()
    answer_in_reasoning: bool = False


def _template_thinking(**others: Any) -> ThinkingSwitch:
    """The switch of servers that hand it to the model's chat template."""
    return ThinkingSwitch(
        on={"chat_template_kwargs": {"enable_thinking": True, **others}},
        off={"chat_template_kwargs": {"enable_thinking": False, **others}},
    )


# Without it a template drops the reasoning of earlier turns at each new user message, and their tail misses the cache.
_PRESERVED = {"preserve_thinking": True}

GENERIC = ProviderProfile("generic")

_DASHSCOPE_IMPLICIT = ProviderProfile(
    "dashscope-implicit",
    thinking=ThinkingSwitch(on={"enable_thinking": True}, off={"enable_thinking": False}),
    reasoning_field="reasoning_content",
    always=_PRESERVED,
    response_format=ResponseFormats.JSON_OBJECT,
    forced_tool_while_thinking=False,
)

_OPENAI = ProviderProfile(
    "openai",
    context_tokens=128_000,
    memory_role="system",
    cache_key=True,
    thinking=ThinkingSwitch(on={"reasoning_effort": "medium"}, off={"reasoning_effort": "none"}),
    max_tokens_field="max_completion_tokens",
    left_out=frozenset({"temperature"}),
)

PROFILES = {
    profile.name: profile
    for profile in (
        GENERIC,
        ProviderProfile("offline"),
        # Marks switch the provider's own cache off, so the tail needs them too.
        replace(
            _DASHSCOPE_IMPLICIT,
            name="dashscope",
            marks=CacheMarks.SYSTEM_AND_TAIL,
            headers={"X-DashScope-CacheControl": "enable"},
        ),
        _DASHSCOPE_IMPLICIT,
        _OPENAI,
        # From GPT-5.6 on only whole marked prefixes hit. The provider marks the end of each request by itself.
        replace(
            _OPENAI,
            name="openai-5.6",
            marks=CacheMarks.SYSTEM,
            mark={"prompt_cache_breakpoint": {"mode": "explicit"}},
        ),
        ProviderProfile(
            "deepseek",
            context_tokens=1_000_000,
            memory_role="system",
            cache_minimum=64,
            thinking=ThinkingSwitch(on={"thinking": {"type": "enabled"}}, off={"thinking": {"type": "disabled"}}),
            reasoning_field="reasoning_content",
            usage=UsageShape.HIT_AND_MISS,
            response_format=ResponseFormats.JSON_OBJECT,
            forced_tool_while_thinking=False,
        ),
        ProviderProfile(
            "anthropic",
            context_tokens=200_000,
            marks=CacheMarks.SYSTEM_AND_TAIL,
            cache_minimum=4_096,
            thinking=ThinkingSwitch(on={"thinking": {"type": "adaptive"}}, off={"thinking": {"type": "disabled"}}),
            usage=UsageShape.DISJOINT,
            response_format=ResponseFormats.PROMPT,
            forced_tool_while_thinking=False,
            left_out=frozenset({"temperature"}),
        ),
        ProviderProfile(
            "vllm",
            context_tokens=32_768,
            cache_minimum=16,
            thinking=_template_thinking(**_PRESERVED),
            reasoning_field="reasoning",
            always={"chat_template_kwargs": _PRESERVED},
        ),
        ProviderProfile(
            "sglang",
            context_tokens=32_768,
            cache_minimum=1,
            thinking=_template_thinking(**_PRESERVED),
            reasoning_field="reasoning_content",
            always={"chat_template_kwargs": _PRESERVED},
        ),
        ProviderProfile(
            "llama.cpp",
            context_tokens=32_768,
            cache_minimum=1,
            thinking=_template_thinking(**_PRESERVED),
            reasoning_field="reasoning_content",
            always={"cache_prompt": True, "chat_template_kwargs": _PRESERVED},
        ),
        ProviderProfile(
            "ollama",
            context_tokens=32_768,
            cache_minimum=1,
            thinking=ThinkingSwitch(on={"reasoning_effort": "medium"}, off={"reasoning_effort": "none"}),
            reasoning_field="reasoning",
            usage=UsageShape.NOTHING,
        ),
    )
}
