"""A real endpoint is used where one is set; what it lacks comes from the offline model."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from devstack.model_endpoint import chosen_endpoint, needs_offline_model
from devstack.settings import DevstackSettings

_OFFLINE = "http://127.0.0.1:1"


def _settings(**given: object) -> DevstackSettings:
    return DevstackSettings.model_validate(given)


def test_nothing_set_is_the_offline_model() -> None:
    settings = _settings()
    endpoint = chosen_endpoint(settings, _OFFLINE)
    assert needs_offline_model(settings)
    assert (endpoint.base_url, endpoint.embedding_base_url) == (f"{_OFFLINE}/v1", f"{_OFFLINE}/v1")


def test_a_real_endpoint_without_embeddings_borrows_them() -> None:
    settings = _settings(model_base_url="http://real/v1", model_api_key=SecretStr("key"), model_main="big")
    endpoint = chosen_endpoint(settings, _OFFLINE)
    assert needs_offline_model(settings)
    assert (endpoint.base_url, endpoint.main, endpoint.fast) == ("http://real/v1", "big", "big")
    assert endpoint.embedding_base_url == f"{_OFFLINE}/v1"


def test_a_complete_endpoint_needs_nothing_else() -> None:
    settings = _settings(
        model_base_url="http://real/v1", model_api_key=SecretStr("key"), model_main="big", model_embedding="vectors"
    )
    endpoint = chosen_endpoint(settings, _OFFLINE)
    assert not needs_offline_model(settings)
    assert (endpoint.embedding_base_url, endpoint.embedding) == ("http://real/v1", "vectors")


def test_half_an_endpoint_is_refused_at_start() -> None:
    with pytest.raises(ValidationError, match="MODEL_API_KEY"):
        _settings(model_base_url="http://real/v1")


def test_each_endpoint_has_its_profile_and_a_person_may_name_another() -> None:
    real = {"model_base_url": "http://real/v1", "model_api_key": SecretStr("key"), "model_main": "big"}
    assert _told()["MODEL_PROFILE"] == "offline"
    assert _told(**real)["MODEL_PROFILE"] == "generic"
    assert _told(**real, model_profile="dashscope")["MODEL_PROFILE"] == "dashscope"


def test_what_is_set_for_the_callers_of_the_model_reaches_them(tmp_path: Path) -> None:
    told = _told(model_context_tokens=64_000, model_record_dir=tmp_path / "traffic")
    assert told["MODEL_CONTEXT_TOKENS"] == "64000"
    assert told["MODEL_RECORD_DIR"] == str(tmp_path / "traffic")
    assert "MODEL_PLAYBACK_DIR" not in told


def _told(**given: object) -> dict[str, str]:
    return chosen_endpoint(_settings(**given), _OFFLINE).chat_environment
