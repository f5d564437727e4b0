"""Settings of the memory service, from the environment."""

from pathlib import Path

from pydantic import Field, SecretStr, model_validator

from common.memory_api.operations import Service
from common.settings import ServiceSettings


class MemorySettings(ServiceSettings):
    memory_database_url: SecretStr
    """The role `shoppingx_memory`: sees one user at a time."""
    memory_dispatch_database_url: SecretStr
    """The role `shoppingx_dispatch`: sees work records of all users, and no words."""
    redis_url: SecretStr
    memory_master_key_file: Path
    service_token_gateway: SecretStr
    service_token_agent: SecretStr
    service_token_curator: SecretStr
    service_token_operator: SecretStr
    database_pool_size: int = Field(default=10, ge=1)
    enable_memory: bool = True
    lease_seconds: float = Field(default=15.0, gt=0)
    turn_deadline_seconds: float = Field(default=120.0, gt=0)
    sweep_interval_seconds: float = Field(default=2.0, gt=0)
    backlog_interval_seconds: float = Field(default=5.0, gt=0)
    """How often the gauges of waiting work are read."""
    publish_grace_seconds: float = Field(default=5.0, ge=0)
    """How long the live publish may take before the sweeper wakes the work again."""
    republish_seconds: float = Field(default=60.0, gt=0)
    max_attempts: int = Field(default=5, ge=1)
    backoff_seconds: float = Field(default=2.0, gt=0)
    curation_wait_seconds: float = Field(default=1.5, ge=0)
    shutdown_seconds: float = Field(default=10.0, gt=0)
    """Time that open requests get at shutdown."""

    @model_validator(mode="after")
    def _lease_fits_deadline(self) -> "MemorySettings":
        if self.lease_seconds >= self.turn_deadline_seconds:
            raise ValueError("LEASE_SECONDS must be shorter than TURN_DEADLINE_SECONDS")
        return self

    def service_tokens(self) -> dict[Service, SecretStr]:
        return {
            Service.GATEWAY: self.service_token_gateway,
            Service.AGENT: self.service_token_agent,
            Service.CURATOR: self.service_token_curator,
            Service.OPERATOR: self.service_token_operator,
        }


class MigrationSettings(ServiceSettings):
    database_url: SecretStr
    """The owner of the schema; it also creates the two service roles."""
    memory_app_password: SecretStr
    memory_dispatch_password: SecretStr
