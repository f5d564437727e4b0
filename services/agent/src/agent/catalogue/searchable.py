"""A product with everything derived from its words, worked out once."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from agent.catalogue.allergens import ALLERGENS
from agent.catalogue.domains import DOMAINS
from agent.catalogue.materials import MATERIALS
from agent.catalogue.products import Product
from common.text import normalise

_LATIN = re.compile(r"[0-9a-z\u00df-\u024f]+")
_HYPHENED = re.compile(r"[0-9a-z]+(?:-[0-9a-z]+)+")
_CHINESE = re.compile(r"[\u3400-\u9fff\u3040-\u30ff]+")

_FUNCTION_WORDS = frozenset(
    (
        "a",
        "an",
        "and",
        "at",
        "by",
        "for",
        "from",
        "in",
        "into",
        "is",
        "it",
        "of",
        "on",
        "or",
        "that",
        "the",
        "to",
        "with",
    )
)


@dataclass(frozen=True)
class SearchableProduct:
    """All texts are normalised, and fields are kept apart by line ends so that no word spans two of them."""

    product: Product
    key_terms: frozenset[str]
    other_terms: frozenset[str]
    claims: str
    declared: str
    brand_key: str


def passage(product: Product) -> str:
    """The text that is embedded for a product, both languages. Short: a local model needs time for every token, and
    the ranking reads brand and materials as words anyway."""
    domain = DOMAINS[product.domain]
    return (
        f"{product.title_zh} {product.title_en}. {domain.name_zh} {domain.name_en}. "
        f"{product.description_zh} {product.description_en}"
    )


def fingerprint(products: Iterable[Product], embedding_model: str) -> str:
    """Names a set of vectors by everything it depends on: the model, the products and the text made of each."""
    digest = hashlib.sha256(embedding_model.encode())
    for product in sorted(products, key=lambda product: product.item_id):
        digest.update(f"\n{product.model_dump_json()}\n{passage(product)}".encode())
    return digest.hexdigest()[:32]


@lru_cache(maxsize=20_000)
def read_product(product_json: str) -> SearchableProduct:
    """Cached by content, so that a search pays for parsing only what it has not seen."""
    return make_searchable(Product.model_validate_json(product_json))


def searchable(product: Product) -> SearchableProduct:
    """As `make_searchable`, worked out once per content: for those who meet the same products again and again."""
    return read_product(product.model_dump_json())


def make_searchable(product: Product) -> SearchableProduct:
    titles = _lines(product.title_zh, product.title_en)
    descriptions = _lines(product.description_zh, product.description_en)
    declared = _lines(
        *(word for slug in product.materials for word in MATERIALS[slug].words()),
        *(word for slug in product.allergens for word in ALLERGENS[slug].words()),
    )
    domain = DOMAINS[product.domain]
    material_names = product.material_names("zh") + product.material_names("en")
    key = _lines(titles, product.brand, *product.attributes.values())
    other = _lines(descriptions, domain.name_zh, domain.name_en, *material_names)
    return SearchableProduct(
        product,
        key_terms=frozenset(terms(key) + _characters(key)),
        other_terms=frozenset(terms(other) + _characters(other)),
        claims=f"{titles}\n{descriptions}",
        declared=declared,
        brand_key=normalise(product.brand),
    )


def terms(normalised: str) -> list[str]:
    """Latin words in the singular and Chinese character pairs (a lone character stands for itself); a model number
    also in one piece, so that SM-H4 and SMH4 are the same."""
    found = [_singular(word) for word in _LATIN.findall(normalised) if word not in _FUNCTION_WORDS]
    found.extend(word.replace("-", "") for word in _HYPHENED.findall(normalised) if re.search("[0-9]", word))
    for run in _CHINESE.findall(normalised):
        found.extend(run[start : start + 2] for start in range(max(1, len(run) - 1)))
    return found


def _characters(normalised: str) -> list[str]:
    """Every Chinese character by itself, for queries of one character: 「伞」."""
    return [character for run in _CHINESE.findall(normalised) for character in run]


def _lines(*fields: str) -> str:
    return "\n".join("\n".join(normalise(line) for line in field.splitlines()) for field in fields)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
