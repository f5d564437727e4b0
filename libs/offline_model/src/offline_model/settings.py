"""What the offline model reads from its environment."""

from pydantic import Field

from common.settings import ServiceSettings
from offline_model.prefix_cache import CachePolicy


class OfflineModelSettings(ServiceSettings):
    chunk_delay_seconds: float = Field(default=0.0, ge=0.0, le=10.0)
    """Pause before every streamed chunk; 0 streams as fast as the client reads."""

    cache_policy: CachePolicy = CachePolicy.BLOCK128
    """Which provider's prefix cache is simulated."""
