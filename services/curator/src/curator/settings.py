"""Settings of the curator, from the environment."""

from pydantic import Field, SecretStr

from model_client.settings import ModelSettings


class CuratorSettings(ModelSettings):
    memory_url: str
    service_token: SecretStr
    redis_url: SecretStr
    model_fast: str
    workers: int = Field(default=4, ge=1, le=256)
    """Curations at work at a time."""
    finish_seconds: float = Field(default=5.0, ge=0)
    """After SIGTERM: how long curations may go on before they are handed back."""
    stop_seconds: float = Field(default=15.0, gt=0)
    """After SIGTERM: when the process ends in any case."""
