"""Settings of the agent, from the environment."""

from pathlib import Path

from pydantic import Field, SecretStr

from common.settings import ServiceSettings
from model_client.settings import ModelSettings


class CatalogueSettings(ServiceSettings):
    """What is needed to build the catalogue's vectors."""

    model_base_url: str | None = None
    model_api_key: SecretStr = SecretStr("none")
    model_embedding: str
    embedding_base_url: str | None = None
    """Defaults to MODEL_BASE_URL."""
    catalogue_dir: Path | None = None
    """Directory of the vector file (local mode). Either this or QDRANT_URL is needed."""
    qdrant_url: str | None = None

    @property
    def embedding_endpoint(self) -> str:
        endpoint = self.embedding_base_url or self.model_base_url
        if endpoint is None:
            raise ValueError("either EMBEDDING_BASE_URL or MODEL_BASE_URL is needed")
        return endpoint


class AgentSettings(ModelSettings, CatalogueSettings):
    memory_url: str
    service_token: SecretStr
    redis_url: SecretStr
    model_base_url: str
    """Needed here, though the catalogue can do without."""
    model_main: str
    model_fast: str
    """For side calls (the planner)."""
    prune_at: float = Field(default=0.5, gt=0, le=1)
    """Share of the window that tool results may take before the oldest are replaced by a placeholder."""
    compact_at: float = Field(default=0.8, gt=0, le=0.95)
    """Share of the window at which the conversation is summarised."""
    planner_seconds: float = Field(default=15.0, gt=0)
    """What a plan may take; the turn goes on without one that takes longer."""
    compaction_seconds: float = Field(default=60.0, gt=0)
    """What a summary may take."""
    workers: int = Field(default=8, ge=1, le=256)
    """Turns at work at a time."""
    max_steps: int = Field(default=12, ge=3)
    """Model calls per turn."""
    default_destination: str | None = Field(default=None, pattern=r"^[A-Z]{2}$")
    """Where goods go (ISO 3166-1) for a user of whom nothing is known; without it, nowhere."""
    finish_seconds: float = Field(default=5.0, ge=0)
    """After SIGTERM: how long turns may go on before they are handed back."""
    stop_seconds: float = Field(default=15.0, gt=0)
    """After SIGTERM: when the process ends in any case."""
