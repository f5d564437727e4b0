"""What the offline model reads from its environment."""

from pydantic import Field

from common.settings import ServiceSettings
from offline_model.prefix_cache.policies import CachePolicy


class OfflineModelSettings(ServiceSettings):
    chunk_delay_seconds: float = Field(default=0.0, ge=0.0, le=10.0)
    """Pause before every streamed chunk; 0 streams as fast as the client reads."""

    cache_policy: CachePolicy = CachePolicy.BLOCK128
    """Which provider's prefix cache is simulated under /v1; /caches/<policy>/v1 has each of them."""

    context_window: int = Field(default=131_072, ge=1)
    """Tokens of the longest prompt that is answered; a longer one is refused as providers refuse it."""
