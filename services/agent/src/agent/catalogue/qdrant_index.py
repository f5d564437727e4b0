"""The products in Qdrant: the same code for a server and, in tests, for its in-process mode.

Collections are named by their fingerprint and filled before the alias `products` points to them, so a reader never sees
half an index and two builders end up with the same one.
"""

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from agent.catalogue.embeddings import FloatArray
from agent.catalogue.errors import CatalogueUnavailable, IndexMissing
from agent.catalogue.exchange_rates import to_cny
from agent.catalogue.filters import price_admitted
from agent.catalogue.products import Product
from agent.catalogue.queries import CatalogueQuery
from agent.catalogue.ranking import CANDIDATES, Candidate
from agent.catalogue.searchable import make_searchable, read_product
from agent.catalogue.sparse import query_terms, weighted_terms
from common.text import normalise

ALIAS = "products"
_NAMESPACE = uuid.UUID("6f0c2f5e-5d0b-4f3b-9a52-9c7c0d6a1c11")
_BATCH = 128
_WORDS = "words"
"""The sparse vector of a product's terms, beside its dense one."""
_LAYOUT = 2
"""Goes up when something else is stored for the same product: a collection of another layout is not read."""
_PRICE_SLACK = 0.01
"""Qdrant compares floats; its range is a little wider and the exact decimals decide afterwards."""


class QdrantIndex:
    """A published collection as an index to search; closes the client."""

    def __init__(self, client: QdrantClient) -> None:
        self._client = client

    def find_candidates(self, vector: FloatArray, query: CatalogueQuery) -> list[Candidate]:
        return find_candidates(self._client, vector, query)

    def find_product(self, item_id: str) -> Product | None:
        return find_product(self._client, item_id)

    def close(self) -> None:
        self._client.close()


def connect(url: str, timeout: int = 5) -> QdrantClient:
    """A client for a Qdrant server; nothing is sent yet. `timeout` in seconds."""
    return QdrantClient(url=url, timeout=timeout, check_compatibility=False, trust_env=False)


def collection_name(fingerprint: str) -> str:
    return f"products_{_LAYOUT}_{fingerprint}"


def is_published(client: QdrantClient, fingerprint: str) -> bool:
    with _server_errors():
        return _published(client) == collection_name(fingerprint)


def fill(client: QdrantClient, fingerprint: str, products: Sequence[Product], vectors: FloatArray) -> None:
    """Write all products into the collection of this fingerprint. Repeating it changes nothing."""
    name = collection_name(fingerprint)
    with _server_errors():
        if not client.collection_exists(name):
            _create(client, name, dimensions=vectors.shape[1])
        _index_payload(client, name)
        points = [_point(product, vector) for product, vector in zip(products, vectors.tolist(), strict=True)]
        for start in range(0, len(points), _BATCH):
            client.upsert(name, points[start : start + _BATCH], wait=True)


def publish(client: QdrantClient, fingerprint: str) -> None:
    """Let readers see this collection, in one step, and drop the one they saw before."""
    name = collection_name(fingerprint)
    with _server_errors():
        previous = _published(client)
        if previous == name:
            return
        operations: list[models.AliasOperations] = []
        if previous is not None:
            operations.append(models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=ALIAS)))
        create = models.CreateAlias(collection_name=name, alias_name=ALIAS)
        operations.append(models.CreateAliasOperation(create_alias=create))
        client.update_collection_aliases(operations)
        if previous is not None:
            client.delete_collection(previous)


def find_candidates(client: QdrantClient, vector: FloatArray, query: CatalogueQuery) -> list[Candidate]:
    """The nearest offers and those that share words with the query, each with its similarity, of all that pass the
    filters; exclude words are not looked at here."""
    dense = [float(number) for number in vector]
    shared = _sparse((term, 1.0) for term in query_terms(query.query))
    passing = models.Filter(must=_conditions(query))
    most = max(CANDIDATES, query.limit)
    with _server_errors():
        answer = client.query_points(
            ALIAS,
            prefetch=[
                models.Prefetch(query=dense, filter=passing, limit=most),
                models.Prefetch(query=shared, using=_WORDS, filter=passing, limit=most),
            ],
            query=dense,
            limit=2 * most,
            with_payload=["product"],
        )
    found = (Candidate(read_product(str((point.payload or {})["product"])), point.score) for point in answer.points)
    return [candidate for candidate in found if price_admitted(candidate.entry.product, query)]


def find_product(client: QdrantClient, item_id: str) -> Product | None:
    with _server_errors():
        records = client.retrieve(ALIAS, [_point_id(item_id)], with_payload=["product"])
    if not records:
        return None
    return read_product(str((records[0].payload or {})["product"])).product


def _conditions(query: CatalogueQuery) -> list[models.Condition]:
    conditions: list[models.Condition] = []
    if query.domain is not None:
        conditions.append(_equals("domain", query.domain))
    if query.ships_to is not None:
        conditions.append(_equals("ships_to", query.ships_to))
    if query.platforms:
        conditions.append(_one_of("platform", query.platforms))
    if query.brands:
        conditions.append(_one_of("brand_key", query.brands))
    if query.price_min is not None or query.price_max is not None:
        conditions.append(models.FieldCondition(key="price_cny", range=_price_range(query)))
    return conditions


def _equals(key: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _one_of(key: str, words: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchAny(any=[normalise(word) for word in words]))


def _price_range(query: CatalogueQuery) -> models.Range:
    low, high = query.price_min, query.price_max
    return models.Range(
        gte=None if low is None else float(to_cny(low, query.currency)) - _PRICE_SLACK,
        lte=None if high is None else float(to_cny(high, query.currency)) + _PRICE_SLACK,
    )


def _create(client: QdrantClient, name: str, dimensions: int) -> None:
    params = models.VectorParams(size=dimensions, distance=models.Distance.COSINE)
    try:
        words = models.SparseVectorParams(modifier=models.Modifier.IDF)
        client.create_collection(name, vectors_config=params, sparse_vectors_config={_WORDS: words})
    except UnexpectedResponse as error:
        if error.status_code != 409:  # another builder was first
            raise


def _index_payload(client: QdrantClient, name: str) -> None:
    """Indexes for the filters; repeating it changes nothing. The in-process Qdrant has none and warns of it."""
    if "url" not in client.init_options or client.init_options["url"] is None:
        return
    for key in ("domain", "ships_to", "platform", "brand_key"):
        client.create_payload_index(name, key, models.PayloadSchemaType.KEYWORD)
    client.create_payload_index(name, "price_cny", models.PayloadSchemaType.FLOAT)


def _point(product: Product, vector: list[float]) -> models.PointStruct:
    payload = {
        "domain": product.domain,
        "ships_to": list(product.ships_to),
        "platform": product.platform,
        "brand_key": normalise(product.brand),
        "price_cny": float(to_cny(product.price, product.currency)),
        "product": product.model_dump_json(),
    }
    words = _sparse(weighted_terms(make_searchable(product)))
    return models.PointStruct(id=_point_id(product.item_id), vector={"": vector, _WORDS: words}, payload=payload)


def _sparse(weighted: Iterable[tuple[str, float]]) -> models.SparseVector:
    """Terms are numbered by a hash; the heavier counts of two that share a number."""
    numbered: dict[int, float] = {}
    for term, weight in weighted:
        number = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest())
        numbered[number] = max(weight, numbered.get(number, 0.0))
    return models.SparseVector(indices=list(numbered), values=list(numbered.values()))


def _point_id(item_id: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, item_id))


def _published(client: QdrantClient) -> str | None:
    aliases = client.get_aliases().aliases
    return next((alias.collection_name for alias in aliases if alias.alias_name == ALIAS), None)


@contextmanager
def _server_errors() -> Iterator[None]:
    try:
        yield
    except UnexpectedResponse as error:
        if error.status_code == 404:
            raise IndexMissing("Qdrant holds no catalogue; run build-catalogue") from error
        raise CatalogueUnavailable(f"Qdrant answered {error.status_code}") from error
    except ApiException as error:
        raise CatalogueUnavailable(f"Qdrant does not answer: {type(error).__name__}") from error
