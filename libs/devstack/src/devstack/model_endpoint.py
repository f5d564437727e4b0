"""Which model the services talk to: a real endpoint where one is set, else the offline model."""

from dataclasses import dataclass

from devstack.settings import DevstackSettings

_OFFLINE_KEY = "offline"
_OFFLINE_MAIN = "offline-main"
_OFFLINE_FAST = "offline-fast"
_OFFLINE_EMBEDDING = "offline-embedding"


@dataclass(frozen=True)
class ModelEndpoint:
    base_url: str
    api_key: str
    main: str
    fast: str
    embedding_base_url: str
    embedding: str

    @property
    def chat_environment(self) -> dict[str, str]:
        return {
            "MODEL_BASE_URL": self.base_url,
            "MODEL_API_KEY": self.api_key,
            "MODEL_MAIN": self.main,
            "MODEL_FAST": self.fast,
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
    return ModelEndpoint(base_url, _OFFLINE_KEY, _OFFLINE_MAIN, _OFFLINE_FAST, base_url, _OFFLINE_EMBEDDING)


def needs_offline_model(settings: DevstackSettings) -> bool:
    """Also beside a real endpoint: many have no embeddings, and the offline model's are real ones."""
    return settings.model_base_url is None or settings.model_embedding is None


def chosen_endpoint(settings: DevstackSettings, offline_url: str) -> ModelEndpoint:
    offline = offline_endpoint(offline_url)
    if settings.model_base_url is None or settings.model_main is None or settings.model_api_key is None:
        return offline
    embeds = settings.model_embedding is not None
    return ModelEndpoint(
        base_url=settings.model_base_url,
        api_key=settings.model_api_key.get_secret_value(),
        main=settings.model_main,
        fast=settings.model_fast or settings.model_main,
        embedding_base_url=(settings.embedding_base_url or settings.model_base_url)
        if embeds
        else offline.embedding_base_url,
        embedding=settings.model_embedding or offline.embedding,
    )
