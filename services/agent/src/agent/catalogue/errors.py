"""What can go wrong with the catalogue: try again later, or someone must change something."""


class CatalogueError(Exception):
    """The root. Messages name settings and numbers, never a user's words."""


class CatalogueUnavailable(CatalogueError):
    """Retryable: something the catalogue depends on does not answer right now."""


class EmbeddingUnavailable(CatalogueUnavailable):
    """Retryable: the embedding endpoint is not reachable, too slow, overloaded or broken."""


class EmbeddingRefused(CatalogueError):
    """Permanent: the embedding endpoint does not accept what we send (key, model name, parameters)."""


class IndexMissing(CatalogueError):
    """Permanent until `python -m agent build-catalogue` has run for these products and this model."""
