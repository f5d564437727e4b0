"""Candidates come from vectors and from words, in both kinds of index alike."""

import numpy as np
import pytest
from qdrant_client import QdrantClient

from agent.catalogue import local_index, qdrant_index
from agent.catalogue.catalogue import ProductIndex
from agent.catalogue.embeddings import FloatArray
from agent.catalogue.local_index import LocalIndex
from agent.catalogue.products import load_products
from agent.catalogue.qdrant_index import QdrantIndex
from agent.catalogue.queries import CatalogueQuery
from agent.catalogue.ranking import rank
from agent.catalogue.searchable import make_searchable, terms
from agent.catalogue.sparse import SparseIndex

PRODUCTS = load_products()[:60]
FEW = 5


def vectors() -> FloatArray:
    """Each product in a direction of its own, the later the farther from the first."""
    angles = np.linspace(0.0, np.pi, len(PRODUCTS))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.fixture(params=["local", "qdrant"])
def index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ProductIndex:
    monkeypatch.setattr(local_index, "CANDIDATES", FEW)
    monkeypatch.setattr(qdrant_index, "CANDIDATES", FEW)
    if request.param == "local":
        return LocalIndex(PRODUCTS, vectors())
    client = QdrantClient(":memory:")
    qdrant_index.fill(client, "few", PRODUCTS, vectors())
    qdrant_index.publish(client, "few")
    return QdrantIndex(client)


def found(index: ProductIndex, query: str, **bounds: object) -> dict[str, float]:
    asked = CatalogueQuery.model_validate({"query": query, "limit": 1, **bounds})
    return {one.entry.product.item_id: one.similarity for one in index.find_candidates(vectors()[0], asked)}


def test_a_product_far_from_the_query_is_a_candidate_by_its_word(index: ProductIndex) -> None:
    last = next(p for p in reversed(PRODUCTS) if p.attributes.get("model"))
    position = PRODUCTS.index(last)
    assert position > 2 * FEW, "near by vector, it would prove nothing"
    candidates = found(index, last.attributes["model"])
    assert candidates[last.item_id] == pytest.approx(float(vectors()[position] @ vectors()[0]), abs=1e-5)
    nearest = {product.item_id for product in PRODUCTS[:FEW]}
    assert nearest <= set(candidates)


def test_without_shared_words_only_the_nearest_are_candidates(index: ProductIndex) -> None:
    assert sorted(found(index, "zzzz")) == sorted(product.item_id for product in PRODUCTS[:FEW])


def test_the_filters_hold_for_what_is_found_by_words(index: ProductIndex) -> None:
    last = next(p for p in reversed(PRODUCTS) if p.attributes.get("model"))
    elsewhere = next(p.platform for p in PRODUCTS if p.platform != last.platform)
    candidates = found(index, last.attributes["model"], platforms=[elsewhere])
    assert candidates
    assert last.item_id not in candidates


def test_both_kinds_of_index_have_the_same_candidates_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_index, "CANDIDATES", FEW)
    monkeypatch.setattr(qdrant_index, "CANDIDATES", FEW)
    local = LocalIndex(PRODUCTS, vectors())
    client = QdrantClient(":memory:")
    qdrant_index.fill(client, "few", PRODUCTS, vectors())
    qdrant_index.publish(client, "few")
    for text in ("BX-22R", "有机棉", "wireless headphones"):  # no ties where the candidates are cut
        query = CatalogueQuery(query=text, limit=1)
        orders = [
            [one.entry.product.item_id for one in rank(text, kind.find_candidates(vectors()[0], query))]
            for kind in (local, QdrantIndex(client))
        ]
        assert orders[0] == orders[1], text


def test_a_rare_word_finds_more_than_a_common_one() -> None:
    entries = [make_searchable(product) for product in load_products()]
    scores = SparseIndex(entries).scores("通勤 SM-H4")
    best = max(scores, key=lambda position: scores[position])
    assert entries[best].product.item_id == "aud-001"


def test_a_model_number_is_one_term_too() -> None:
    assert terms("sm-h4") == ["sm", "h4", "smh4"]
    assert "noisecancelling" not in terms("noise-cancelling")
