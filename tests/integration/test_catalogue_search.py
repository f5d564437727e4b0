"""Searching the demo catalogue with real vectors: the offline model's endpoint on a real port, Qdrant in memory."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from pydantic import SecretStr
from qdrant_client import QdrantClient
from tests.support.processes import CATALOGUE_DIRECTORY
from tests.support.serving import LOOPBACK, serving

from agent.catalogue import opening, qdrant_index
from agent.catalogue.catalogue import IndexedCatalogue
from agent.catalogue.embeddings import EmbeddingKind, FloatArray, OpenAIEmbedder
from agent.catalogue.errors import CatalogueUnavailable, IndexMissing
from agent.catalogue.exchange_rates import convert
from agent.catalogue.opening import build_collection, build_vectors, open_catalogue
from agent.catalogue.products import load_products
from agent.catalogue.qdrant_index import QdrantIndex
from agent.catalogue.queries import CatalogueQuery, SearchResult
from agent.catalogue.searchable import fingerprint
from agent.catalogue.vector_file import read_vectors
from gateway.server import listening_socket
from offline_model.app import build_app
from offline_model.settings import OfflineModelSettings

NUT_WORDS = ("坚果", "花生", "杏仁", "nut", "peanut", "almond")


class CountingEmbedder:
    """Counts what passes through to the real one."""

    def __init__(self, inner: OpenAIEmbedder) -> None:
        self._inner = inner
        self.texts = 0

    @property
    def model(self) -> str:
        return self._inner.model

    async def embed(self, texts: Sequence[str], kind: EmbeddingKind) -> FloatArray:
        self.texts += len(texts)
        return await self._inner.embed(texts, kind)


class ThreadRecorder(QdrantClient):
    """Notes on which threads it is asked."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.threads: set[str] = set()

    def query_points(self, *arguments: Any, **named: Any) -> Any:
        self.threads.add(threading.current_thread().name)
        return super().query_points(*arguments, **named)


@pytest.fixture(scope="module")
async def embedder() -> AsyncIterator[OpenAIEmbedder]:
    server = uvicorn.Server(uvicorn.Config(build_app(OfflineModelSettings()), log_config=None, access_log=False))
    async with serving(server, listening_socket(LOOPBACK, 0)) as url:
        client = OpenAIEmbedder(f"{url}/v1", SecretStr("offline"), "offline-embedding", query_timeout=30.0)
        yield client
        await client.close()


@pytest.fixture(scope="module", params=["local", "qdrant"])
async def catalogue(embedder: OpenAIEmbedder, request: pytest.FixtureRequest) -> AsyncIterator[IndexedCatalogue]:
    """Both indexes, over the directory that all tests share: its vectors are built where they are not current."""
    await build_vectors(embedder, CATALOGUE_DIRECTORY)
    opened = open_catalogue(embedder, directory=CATALOGUE_DIRECTORY)
    if request.param == "qdrant":
        opened = IndexedCatalogue(QdrantIndex(_filled_qdrant(embedder)), embedder)
    yield opened
    await opened.close()


def _filled_qdrant(embedder: OpenAIEmbedder) -> QdrantClient:
    products = load_products()
    name = fingerprint(products, embedder.model)
    vectors = read_vectors(CATALOGUE_DIRECTORY, name, [product.item_id for product in products])
    client = QdrantClient(":memory:")
    qdrant_index.fill(client, name, products, vectors)
    qdrant_index.publish(client, name)
    return client


async def search(catalogue: IndexedCatalogue, query: str, **bounds: Any) -> SearchResult:
    return await catalogue.search(CatalogueQuery.model_validate({"query": query, **bounds}))


async def test_commuter_backpacks_for_germany_within_500_yuan(catalogue: IndexedCatalogue) -> None:
    result = await search(catalogue, "通勤双肩包", price_max=500, currency="CNY", ships_to="DE")
    assert len(result.items) >= 5
    for product in result.items:
        assert product.domain == "bags_luggage"
        assert convert(product.price, product.currency, "CNY") <= Decimal(500)
        assert "DE" in product.ships_to


@pytest.mark.parametrize("query", ["办公室零食", "推荐几样办公室零食", "office snacks"])
async def test_office_snacks_without_nuts(catalogue: IndexedCatalogue, query: str) -> None:
    result = await search(catalogue, query, domain="snacks_food", exclude=NUT_WORDS, ships_to="DE")
    assert len(result.items) >= 5
    nuts = {"nuts", "peanut", "almond", "hazelnut", "walnut", "cashew", "pistachio", "macadamia", "pecan"}
    for product in result.items:
        assert not nuts & set(product.allergens), product.item_id
    assert result.excluded
    assert all(exclusion.reason in NUT_WORDS for exclusion in result.excluded)


async def test_without_the_exclusion_nuts_are_listed(catalogue: IndexedCatalogue) -> None:
    """The test above would mean nothing if nuts never came up."""
    result = await search(catalogue, "办公室零食", ships_to="DE")
    assert any("pistachio" in product.allergens or "nuts" in product.allergens for product in result.items)
    assert result.excluded == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("记忆棉颈枕", {"trv-001"}),
        ("neck pillow for long flights", {"trv-001", "trv-002", "trv-003", "trv-004", "trv-014"}),
        ("行李箱打包带", {"trv-005", "trv-006"}),
        ("降噪耳机", {"aud-001", "aud-002", "aud-003"}),
        ("noise cancelling headphones", {"aud-001", "aud-002", "aud-003"}),
        ("SM-H4", {"aud-001"}),
        ("敏感肌可以用的防晒", {"skn-004"}),
        ("绿茶", {"tea-001", "tea-006"}),
        ("咖啡豆", {"tea-012", "tea-013"}),
        ("pour over kettle", {"kit-010"}),
        ("电动车头盔", {"rid-002"}),
        ("cat treats", {"pet-001"}),
        ("遮光窗帘", {"hom-014"}),
        ("blackout curtains", {"hom-014"}),
        ("瑜伽垫", {"spo-001", "spo-002"}),
        ("science kit for a six year old", {"toy-009"}),
        ("黑巧克力", {"snk-012"}),
        ("钢笔", {"sta-002"}),
        ("wildflower seeds", {"gar-011"}),
        ("无线充电座", {"pho-005"}),
    ],
)
async def test_the_first_answer_is_a_right_one(catalogue: IndexedCatalogue, query: str, expected: set[str]) -> None:
    result = await search(catalogue, query)
    assert result.items[0].item_id in expected


MODELS = {
    "NW-Wrap": "trv-003",
    "VT-65A": "trv-013",
    "QC-L20": "bag-001",
    "BX-22R": "bag-002",
    "FW-RT1": "bag-003",
    "KV-B24": "bag-005",
    "OL-Recy20": "bag-007",
    "FW-C21": "bag-008",
    "SM-H4": "aud-001",
    "SM-H9": "aud-002",
    "MS-T3": "aud-003",
    "SM-U1": "aud-014",
}


@pytest.mark.parametrize("written", [str, str.lower, lambda model: model.replace("-", "")])
async def test_a_model_number_comes_first_however_it_is_written(catalogue: IndexedCatalogue, written: Any) -> None:
    for model, item_id in MODELS.items():
        assert (await search(catalogue, written(model))).items[0].item_id == item_id, model


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("颈枕", {"trv-001", "trv-002", "trv-003", "trv-004", "hom-008"}),
        ("围巾", {"men-014"}),
        ("台灯", {"ele-004"}),
        ("鼠标", {"sta-014"}),
        ("茶", {"tea-001", "tea-002", "tea-004", "tea-006"}),
    ],
)
async def test_a_short_chinese_word_finds_all_that_have_it(
    catalogue: IndexedCatalogue, word: str, expected: set[str]
) -> None:
    result = await search(catalogue, word)
    assert expected <= {product.item_id for product in result.items}
    assert result.items[0].item_id in expected


NUTS = {"nuts", "peanut", "almond", "hazelnut", "walnut", "cashew", "pistachio", "macadamia", "pecan"}


@pytest.mark.parametrize(
    ("query", "denied"),
    [
        ("不含坚果的零食", NUTS),
        ("零食 无坚果", NUTS),
        ("nut-free snacks", NUTS),
        ("office snacks without nuts or milk", {*NUTS, "milk"}),
        ("坚果过敏可以吃的零食", NUTS),
    ],
)
async def test_an_exclusion_in_the_query_itself_is_one(
    catalogue: IndexedCatalogue, query: str, denied: set[str]
) -> None:
    result = await search(catalogue, query)
    assert len(result.items) >= 5
    assert sum(product.domain == "snacks_food" for product in result.items) >= len(result.items) - 1
    for product in result.items:
        assert not denied & set(product.allergens), product.item_id
    assert result.excluded


async def test_a_question_for_nuts_is_no_exclusion(catalogue: IndexedCatalogue) -> None:
    result = await search(catalogue, "有没有坚果")
    assert result.items[0].item_id == "snk-001"
    assert result.excluded == []


async def test_filters_hold_together(catalogue: IndexedCatalogue) -> None:
    result = await search(catalogue, "包", platforms=["Amazon"], ships_to="DE", domain="bags_luggage", limit=50)
    assert {product.item_id for product in result.items} == {"bag-007"}
    brands = await search(catalogue, "headphones", brands=["klangheim"])
    assert {product.brand for product in brands.items} == {"Klangheim"}
    low = await search(catalogue, "headphones", price_min=1_000, currency="EUR")
    assert low == SearchResult([], [])


async def test_nickel_and_plastic_are_kept_out_where_a_slogan_denies_them(catalogue: IndexedCatalogue) -> None:
    studs = await search(catalogue, "耳钉 耳环", exclude=["镍"])
    assert {"jew-001", "jew-002"} <= {product.item_id for product in studs.items}
    assert "jew-003" not in {product.item_id for product in studs.items}
    boxes = await search(catalogue, "饭盒", exclude=["塑料"])
    assert boxes.items[0].item_id == "kit-009"


async def test_the_same_query_gives_the_same_list(catalogue: IndexedCatalogue) -> None:
    first = await search(catalogue, "送给妈妈的礼物", limit=20)
    again = await asyncio.gather(*(search(catalogue, "送给妈妈的礼物", limit=20) for _ in range(6)))
    assert all(result == first for result in again)


async def test_one_product_by_its_id(catalogue: IndexedCatalogue) -> None:
    found = await catalogue.get("bag-001")
    assert found == next(product for product in load_products() if product.item_id == "bag-001")
    assert await catalogue.get("bag-999") is None
    assert await catalogue.get("' OR 1=1") is None


async def test_an_index_is_never_asked_on_the_event_loop(embedder: OpenAIEmbedder) -> None:
    products = load_products()[:5]
    client = ThreadRecorder()
    vectors = await embedder.embed([product.title_en for product in products], EmbeddingKind.PASSAGE)
    qdrant_index.fill(client, "few", products, vectors)
    qdrant_index.publish(client, "few")
    few = IndexedCatalogue(QdrantIndex(client), embedder)
    await search(few, "headphones")
    await few.close()
    assert client.threads
    assert all(name.startswith("catalogue") for name in client.threads)


async def test_a_second_build_embeds_nothing(catalogue: IndexedCatalogue, embedder: OpenAIEmbedder) -> None:
    counting = CountingEmbedder(embedder)
    outcome = await build_vectors(counting, CATALOGUE_DIRECTORY)
    assert not outcome.built
    assert outcome.products == len(load_products())
    assert counting.texts == 0


async def test_two_processes_worth_of_catalogues_open_the_same_directory(
    catalogue: IndexedCatalogue, embedder: OpenAIEmbedder
) -> None:
    second = open_catalogue(embedder, directory=CATALOGUE_DIRECTORY)
    try:
        assert await search(second, "绿茶") == await search(catalogue, "绿茶")
    finally:
        await second.close()


async def test_builders_at_once_and_a_change_of_products(
    embedder: OpenAIEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    products = load_products()[:6]
    monkeypatch.setattr(opening, "load_products", lambda: products)
    counting = CountingEmbedder(embedder)
    outcomes = await asyncio.gather(*(build_vectors(counting, tmp_path) for _ in range(3)))
    assert len({outcome.fingerprint for outcome in outcomes}) == 1
    assert not (await build_vectors(counting, tmp_path)).built

    (tmp_path / f"vectors-{outcomes[0].fingerprint}.npz").write_bytes(b"torn")
    assert (await build_vectors(counting, tmp_path)).built

    fewer = products[:4]
    monkeypatch.setattr(opening, "load_products", lambda: fewer)
    with pytest.raises(IndexMissing, match="other products"):
        open_catalogue(embedder, directory=tmp_path)
    assert (await build_vectors(counting, tmp_path)).built
    reopened = open_catalogue(embedder, directory=tmp_path)
    assert await reopened.get(products[5].item_id) is None
    await reopened.close()


async def test_a_collection_is_published_whole_and_replaces_the_one_before(
    embedder: OpenAIEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build for a server, run against Qdrant's in-process implementation of the same API."""
    client = QdrantClient(":memory:")
    counting = CountingEmbedder(embedder)
    products = load_products()
    monkeypatch.setattr(opening, "load_products", lambda: products[:6])
    first = await build_collection(counting, client)
    assert first.built
    embedded = counting.texts
    assert not (await build_collection(counting, client)).built
    assert counting.texts == embedded

    monkeypatch.setattr(opening, "load_products", lambda: products[:8])
    second = await build_collection(counting, client)
    assert second.built
    names = [collection.name for collection in client.get_collections().collections]
    assert names == [qdrant_index.collection_name(second.fingerprint)]
    found = qdrant_index.find_product(client, products[7].item_id)
    assert found == products[7]
    client.close()


async def test_a_qdrant_server_that_is_not_there_is_unavailable(embedder: OpenAIEmbedder) -> None:
    with listening_socket(LOOPBACK, 0) as closed:
        url = f"http://{LOOPBACK}:{closed.getsockname()[1]}"
    with pytest.raises(CatalogueUnavailable):
        await asyncio.to_thread(open_catalogue, embedder, qdrant_url=url)
