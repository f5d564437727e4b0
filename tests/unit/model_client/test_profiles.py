"""What each profile makes of the same requests, byte for byte."""

import json
from typing import Any

import pytest
from pydantic import ValidationError
from tests.unit.model_client.example_requests import GOLDEN, example_requests, golden_file, rendered

from model_client.profiles import GENERIC, PROFILES
from model_client.requests import ModelRequest
from model_client.settings import ModelSettings


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_renders_these_bytes(name: str) -> None:
    assert rendered(PROFILES[name]) == golden_file(name).read_text(encoding="utf-8")


def test_there_is_no_golden_file_without_a_profile() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(PROFILES)


def bodies(name: str) -> list[dict[str, Any]]:
    return [json.loads(request.body(PROFILES[name])) for request in example_requests(PROFILES[name])]


@pytest.mark.parametrize("name", PROFILES)
def test_every_body_is_what_an_endpoint_takes(name: str) -> None:
    for body in bodies(name):
        assert body["stream"] is True
        assert body["stream_options"] == {"include_usage": True}
        for message in body["messages"]:
            content = message["content"]
            assert isinstance(content, str) or all(block["text"] for block in content)
            assert set(message) <= {"role", "content", "tool_calls", "tool_call_id", "reasoning_content", "reasoning"}
            for call in message.get("tool_calls", ()):
                assert call["function"]["arguments"] == '{ "query": "包"}'


@pytest.mark.parametrize("name", PROFILES)
def test_no_profile_changes_what_the_model_reads(name: str) -> None:
    """Blocks and marks are about form: joined, the contents are those that were stored."""
    for request, body in zip(example_requests(PROFILES[name]), bodies(name), strict=True):
        assert [text_of(message) for message in body["messages"]] == [
            text_of(json.loads(message)) for message in request.messages
        ]


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def test_switches_say_nothing_where_a_profile_has_none() -> None:
    plain = ModelRequest("m", ())
    switched = ModelRequest("m", (), thinking=True, cache_key="session")
    assert plain.body(GENERIC) == switched.body(GENERIC)


def test_a_switch_may_change_between_calls_and_keeps_what_is_always_sent() -> None:
    for name in ("vllm", "sglang", "llama.cpp"):
        for thinking in (True, False):
            body = json.loads(ModelRequest("m", (), thinking=thinking).body(PROFILES[name]))
            assert body["chat_template_kwargs"] == {"enable_thinking": thinking, "preserve_thinking": True}
        assert json.loads(ModelRequest("m", ()).body(PROFILES[name]))["chat_template_kwargs"] == {
            "preserve_thinking": True
        }


def settings(**given: Any) -> ModelSettings:
    return ModelSettings.model_validate({"model_base_url": "http://127.0.0.1:9/v1", **given})


def test_settings_name_a_profile_and_override_its_window() -> None:
    assert settings().profile == GENERIC
    chosen = settings(model_profile="dashscope", model_context_tokens=64_000, model_answer_in_reasoning=True).profile
    assert (chosen.name, chosen.context_tokens, chosen.answer_in_reasoning) == ("dashscope", 64_000, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model_profile": "qwen"}, "must be one of .*dashscope"),
        ({"model_context_tokens": 100}, "greater than or equal"),
        ({"model_record_dir": "/tmp/a", "model_playback_dir": "/tmp/b"}, "exclude each other"),
    ],
)
def test_wrong_settings_are_said_at_start(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        settings(**given)
