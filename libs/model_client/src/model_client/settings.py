"""Settings of whoever calls a model, from the environment; and the client made from them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx2
from pydantic import Field, SecretStr, field_validator, model_validator

from common.clock import Clock
from common.settings import ServiceSettings
from model_client.client import ModelClient, ModelTimeouts
from model_client.playback import PlaybackTransport
from model_client.profiles import PROFILES, ProviderProfile
from model_client.recording import RecordingTransport, network


class ModelSettings(ServiceSettings):
    model_base_url: str
    model_api_key: SecretStr = SecretStr("none")
    model_profile: str = "generic"
    """What the endpoint does differently: a row of docs/providers.md."""
    model_context_tokens: int | None = Field(default=None, ge=4_096)
    """The model's window, where it is not the profile's."""
    model_answer_in_reasoning: bool = False
    """Take the reasoning for the answer where a model gives no other."""
    model_first_chunk_seconds: float = Field(default=60.0, gt=0)
    model_between_chunks_seconds: float = Field(default=30.0, gt=0)
    model_record_dir: Path | None = None
    """Record all model traffic there. It holds users' words: for development only."""
    model_playback_dir: Path | None = None
    """Answer from such recordings and use no network."""

    @field_validator("model_profile")
    @classmethod
    def _known_profile(cls, name: str) -> str:
        if name not in PROFILES:
            raise ValueError(f"must be one of {', '.join(sorted(PROFILES))}")
        return name

    @model_validator(mode="after")
    def _records_or_plays(self) -> "ModelSettings":
        if self.model_record_dir and self.model_playback_dir:
            raise ValueError("MODEL_RECORD_DIR and MODEL_PLAYBACK_DIR exclude each other")
        return self

    @property
    def profile(self) -> ProviderProfile:
        profile = PROFILES[self.model_profile]
        return replace(
            profile,
            context_tokens=self.model_context_tokens or profile.context_tokens,
            answer_in_reasoning=self.model_answer_in_reasoning,
        )


def open_model_client(settings: ModelSettings, clock: Clock, new_call_id: Callable[[], str]) -> ModelClient:
    """Raises ValueError where there is nothing to play back."""
    return ModelClient(
        settings.model_base_url,
        settings.model_api_key.get_secret_value(),
        settings.profile,
        clock,
        new_call_id,
        timeouts=ModelTimeouts(
            first_chunk=settings.model_first_chunk_seconds, between_chunks=settings.model_between_chunks_seconds
        ),
        transport=_transport(settings, clock),
    )


def _transport(settings: ModelSettings, clock: Clock) -> httpx2.AsyncBaseTransport | None:
    if settings.model_playback_dir is not None:
        return PlaybackTransport(settings.model_playback_dir)
    if settings.model_record_dir is not None:
        return RecordingTransport(network(), settings.model_record_dir, clock)
    return None
