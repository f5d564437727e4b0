"""What a person may set: their own servers and model instead of the embedded ones, and where our files lie."""

from pathlib import Path

from pydantic import SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class DevstackSettings(BaseSettings):
    """Read from the environment. An address that is not given is that of a server which we start."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    local_directory: Path = Path(".local")
    gateway_port: int | None = None
    turns_per_minute: int | None = None

    database_url: SecretStr | None = None
    redis_url: SecretStr | None = None
    qdrant_url: str | None = None

    model_base_url: str | None = None
    model_api_key: SecretStr | None = None
    model_main: str | None = None
    model_fast: str | None = None
    model_profile: str | None = None
    model_context_tokens: int | None = None
    model_record_dir: Path | None = None
    model_playback_dir: Path | None = None
    embedding_base_url: str | None = None
    model_embedding: str | None = None

    @model_validator(mode="after")
    def _endpoint_is_complete(self) -> "DevstackSettings":
        if self.model_base_url and not (self.model_api_key and self.model_main):
            raise ValueError("MODEL_BASE_URL needs MODEL_API_KEY and MODEL_MAIN beside it")
        return self
