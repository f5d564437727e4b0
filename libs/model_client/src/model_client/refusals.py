"""Reads an endpoint's no: what kind of error it is, and how long it asks us to wait.

Bodies are looked at to tell kinds apart and never kept: they quote prompts.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from model_client.errors import ContextOverflow, ModelError, ModelRefused, ModelStreamBroken, ModelUnavailable

_RETRIED_STATUS = frozenset({408, 409, 425, 429})
_WAIT_MAX = 3_600.0
_BODY_MAX = 4_000
"""Characters of a body that are searched."""

_OVERFLOW = re.compile(
    "|".join(
        (
            r"context[_ ]length[_ ]exceeded",  # OpenAI's code, and many who follow it
            r"exceed_context_size_error|exceeds the available context size",  # llama.cpp
            r"exceeds the context window|context window exceeds|exceeded max(?:imum)? context",  # OpenAI, MiniMax
            r"maximum context length",  # OpenAI, vLLM, SGLang, DeepSeek, Mistral, OpenRouter
            r"longer than the (?:model'?s )?(?:context|maximum)|greater than the context length",  # SGLang, LM Studio
            r"range of input length should be",  # DashScope
            r"(?:prompt|input) is too long|prompt too long|exceed(?:s|ed)? context limit",  # Anthropic, Bedrock, Ollama
            r"input token count.{0,40}exceeds",  # Gemini
            r"maximum prompt length is \d",  # xAI
            r"reduce the length of the messages",  # Groq
            r"exceeded model token limit",  # Kimi
            r"too large for model with \d+ maximum",  # Mistral
            r"request_too_large",  # Anthropic
        )
    ),
    re.IGNORECASE,
)
_OVERFLOW_STATUS = frozenset({400, 413, 422, 500})
"""429 is not among them: "too many tokens" per minute is another matter, and waiting helps."""


def error_of_status(status: int, headers: Mapping[str, str], body: str, now: datetime) -> ModelError:
    """The error of an HTTP answer that is no stream."""
    if status == 413 or (status in _OVERFLOW_STATUS and _is_overflow(body)):
        return ContextOverflow()
    if status in _RETRIED_STATUS or status >= 500:
        return ModelUnavailable(f"status {status}", retry_after(headers, now))
    return ModelRefused(status)


def error_in_stream(body: str) -> ModelError:
    """The error that a stream turned into after its status had said 200."""
    return ContextOverflow() if _is_overflow(body) else ModelStreamBroken("error inside the stream")


def is_error_chunk(chunk: object) -> bool:
    """Whether a chunk is an error, in OpenAI's shape or another one."""
    if not isinstance(chunk, Mapping):
        return False
    if chunk.get("error"):
        return True
    if "choices" in chunk:
        return False
    return chunk.get("object") == "error" or chunk.get("type") == "error" or {"code", "message"} <= chunk.keys()


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the endpoint asks us to wait: milliseconds, seconds or a date.

    A date is read on the endpoint's own clock where it tells that (header `date`): ours need not agree with it.
    """
    told, unit = headers.get("retry-after-ms"), 0.001
    if told is None:
        told, unit = headers.get("retry-after", ""), 1.0
    try:
        seconds = float(told) * unit
    except ValueError:
        at, theirs = _date(told), _date(headers.get("date", ""))
        if at is None:
            return None
        seconds = max(0.0, (at - (theirs or now)).total_seconds())
    return seconds if 0 <= seconds <= _WAIT_MAX else None


def _is_overflow(body: str) -> bool:
    return _OVERFLOW.search(body[:_BODY_MAX]) is not None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo is not None else None
