"""Which model the services talk to: a real endpoint where one is set, else the offline model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from devstack.settings import DevstackSettings

_OFFLINE_KEY = "offline"
_OFFLINE_MAIN = "offline-main"
_OFFLINE_FAST = "offline-fast"
_OFFLINE_EMBEDDING = "offline-embedding"
_OFFLINE_PROFILE = "offline"


@dataclass(frozen=True)
class ModelEndpoint:
    base_url: str
    api_key: str
    main: str
    fast: str
    profile: str
    embedding_base_url: str
    embedding: str
    client: Mapping[str, str] = field(default_factory=dict)
    """Further settings of those who call the model."""

    @property
    def chat_environment(self) -> dict[str, str]:
        return {
            "MODEL_BASE_URL": self.base_url,
            "MODEL_API_KEY": self.api_key,
            "MODEL_MAIN": self.main,
            "MODEL_FAST": self.fast,
            "MODEL_PROFILE": self.profile,
            **self.client,
        }

    @property
    def embedding_environment(self) -> dict[str, str]:
        return {
            "EMBEDDING_BASE_URL": self.embedding_base_url,
            "MODEL_EMBEDDING": self.embedding,
            "MODEL_API_KEY": self.api_key,
        }


def offline_endpoint(url: str) -> ModelEndpoint:
    base_url = f"{url}/v1"
    return ModelEndpoint(
        base_url, _OFFLINE_KEY, _OFFLINE_MAIN, _OFFLINE_FAST, _OFFLINE_PROFILE, base_url, _OFFLINE_EMBEDDING
    )


def needs_offline_model(settings: DevstackSettings) -> bool:
    """Also beside a real endpoint: many have no embeddings, and the offline model's are real ones."""
    return settings.model_base_url is None or settings.model_embedding is None


def chosen_endpoint(settings: DevstackSettings, offline_url: str) -> ModelEndpoint:
    endpoint = _endpoint(settings, offline_endpoint(offline_url))
    return replace(endpoint, profile=settings.model_profile or endpoint.profile, client=_client_environment(settings))


def _endpoint(settings: DevstackSettings, offline: ModelEndpoint) -> ModelEndpoint:
    if settings.model_base_url is None or settings.model_main is None or settings.model_api_key is None:
        return offline
    embeds = settings.model_embedding is not None
    return ModelEndpoint(
        base_url=settings.model_base_url,
        api_key=settings.model_api_key.get_secret_value(),
        main=settings.model_main,
        fast=settings.model_fast or settings.model_main,
        profile="generic",
        embedding_base_url=(settings.embedding_base_url or settings.model_base_url)
        if embeds
        else offline.embedding_base_url,
        embedding=settings.model_embedding or offline.embedding,
    )


def _client_environment(settings: DevstackSettings) -> dict[str, str]:
    """What the callers of a model are told beyond where it is and what it does differently."""
    told = {
        "MODEL_CONTEXT_TOKENS": settings.model_context_tokens,
        "MODEL_RECORD_DIR": settings.model_record_dir and settings.model_record_dir.resolve(),
        "MODEL_PLAYBACK_DIR": settings.model_playback_dir and settings.model_playback_dir.resolve(),
    }
    return {name: str(value) for name, value in told.items() if value is not None}
