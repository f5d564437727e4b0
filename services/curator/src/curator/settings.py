"""Settings of the curator, from the environment."""

from pydantic import Field, SecretStr, field_validator

from common.settings import ServiceSettings
from model_client.profiles import PROFILES, ProviderProfile


class CuratorSettings(ServiceSettings):
    memory_url: str
    service_token: SecretStr
    redis_url: SecretStr
    model_base_url: str
    model_api_key: SecretStr = SecretStr("none")
    model_fast: str
    model_profile: str = "generic"
    workers: int = Field(default=4, ge=1, le=256)
    """Curations at work at a time."""
    finish_seconds: float = Field(default=5.0, ge=0)
    """After SIGTERM: how long curations may go on before they are handed back."""
    stop_seconds: float = Field(default=15.0, gt=0)
    """After SIGTERM: when the process ends in any case."""

    @field_validator("model_profile")
    @classmethod
    def _known_profile(cls, name: str) -> str:
        if name not in PROFILES:
            raise ValueError(f"must be one of {', '.join(sorted(PROFILES))}")
        return name

    @property
    def profile(self) -> ProviderProfile:
        return PROFILES[self.model_profile]
