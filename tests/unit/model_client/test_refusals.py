"""How an endpoint's no is read."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from model_client.errors import ContextOverflow, ModelRefused, ModelStreamBroken, ModelUnavailable
from model_client.refusals import error_in_stream, error_of_status, is_error_chunk, retry_after

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

TOO_LONG = {
    "OpenAI": "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens.",
    "OpenAI, Responses": "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "OpenAI's code": '{"error":{"code":"context_length_exceeded"}}',
    "vLLM": "This model's maximum context length is 32768 tokens. However, you requested 33000 tokens in the messages",
    "SGLang": "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
    "llama.cpp": "the request exceeds the available context size. try increasing it",
    "llama.cpp's type": '{"error":{"type":"exceed_context_size_error"}}',
    "Ollama": "prompt too long; exceeded max context length by 12 tokens",
    "LM Studio": "The number of tokens to keep from the initial prompt is greater than the context length.",
    "DashScope": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
    "Anthropic": "prompt is too long: 213462 tokens > 200000 maximum",
    "Anthropic, with the answer": "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "Gemini": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "xAI": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Groq": "Please reduce the length of the messages or completion.",
    "Kimi": "Invalid request: Your request exceeded model token limit: 262144",
    "MiniMax": "invalid params, context window exceeds limit",
    "Mistral": "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    "Bedrock": "Input is too long for requested model.",
}


@pytest.mark.parametrize("provider", TOO_LONG)
def test_a_request_that_is_too_long_is_known_in_every_providers_words(provider: str) -> None:
    body = json.dumps({"error": {"message": TOO_LONG[provider]}})
    assert isinstance(error_of_status(400, {}, body, NOW), ContextOverflow)
    assert isinstance(error_in_stream(body), ContextOverflow)


def test_too_large_a_body_is_too_long_whatever_it_says() -> None:
    assert isinstance(error_of_status(413, {}, "", NOW), ContextOverflow)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, "Rate limit reached: too many tokens per minute, reduce the length of the messages", ModelUnavailable),
        (503, "overloaded", ModelUnavailable),
        (500, "internal error", ModelUnavailable),
        (408, "", ModelUnavailable),
        (400, "unknown field: chat_template_kwargs", ModelRefused),
        (400, "", ModelRefused),
        (401, "invalid key", ModelRefused),
        (404, "no such model", ModelRefused),
        (422, "max_tokens must be positive", ModelRefused),
    ],
)
def test_other_refusals_are_no_overflow(status: int, body: str, kind: type[Exception]) -> None:
    error = error_of_status(status, {}, body, NOW)
    assert type(error) is kind
    assert body not in str(error) or not body


def test_an_error_in_a_stream_is_a_broken_stream() -> None:
    assert type(error_in_stream('{"error":{"message":"overloaded"}}')) is ModelStreamBroken


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"object": "error", "message": "m"}, True),
        ({"type": "error", "error": {}}, True),
        ({"code": "Throttling", "message": "m", "request_id": "r"}, True),
        ({"choices": [], "code": 1, "message": "m"}, False),
        ({"usage": {}}, False),
        ({}, False),
        (None, False),
        ([], False),
    ],
)
def test_chunks_that_are_errors(chunk: object, expected: bool) -> None:
    assert is_error_chunk(chunk) is expected


def date(seconds: float, base: datetime = NOW) -> str:
    return format_datetime(base + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "99999"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": date(30)}, 30.0),
        ({"retry-after": date(-30)}, 0.0),
        ({"retry-after": date(99_999)}, None),
        ({"retry-after": date(30, NOW - timedelta(hours=5)), "date": date(0, NOW - timedelta(hours=5))}, 30.0),
        ({"retry-after": date(30), "date": "yesterday"}, 30.0),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
    unavailable = error_of_status(429, headers, "", NOW)
    assert isinstance(unavailable, ModelUnavailable)
    assert unavailable.retry_after == seconds
