"""A product, and the demo catalogue that comes with the package."""

from collections.abc import Iterable
from decimal import Decimal
from importlib.resources import files
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from agent.catalogue.allergens import ALLERGENS
from agent.catalogue.domains import DOMAINS
from agent.catalogue.exchange_rates import CURRENCIES
from agent.catalogue.materials import MATERIALS
from agent.catalogue.terms import Language

Text = Annotated[str, StringConstraints(min_length=1, max_length=400, strip_whitespace=True)]
CountryCode = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")]
PlatformId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{1,31}$")]


def _known(names: Iterable[str], kind: str) -> AfterValidator:
    allowed = frozenset(names)

    def check(value: str) -> str:
        if value not in allowed:
            raise ValueError(f"not a known {kind}")
        return value

    return AfterValidator(check)


DomainSlug = Annotated[str, _known(DOMAINS, "domain")]
CurrencyCode = Annotated[str, _known(CURRENCIES, "currency")]
MaterialSlug = Annotated[str, _known(MATERIALS, "material")]
AllergenSlug = Annotated[str, _known(ALLERGENS, "allergen")]


class Product(BaseModel):
    """One offer on one platform. `ships_from` and `ships_to` are ISO 3166-1 alpha-2 codes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    item_id: Annotated[str, StringConstraints(pattern=r"^[a-z]{3}-\d{3}$")]
    domain: DomainSlug
    title_zh: Text
    title_en: Text
    description_zh: Text
    description_en: Text
    brand: Text
    price: Annotated[Decimal, Field(gt=0, decimal_places=2)]
    currency: CurrencyCode
    materials: tuple[MaterialSlug, ...]
    allergens: tuple[AllergenSlug, ...] = ()
    ships_from: CountryCode
    ships_to: Annotated[tuple[CountryCode, ...], Field(min_length=1)]
    platform: PlatformId
    attributes: dict[str, str] = Field(default_factory=dict)

    def title(self, language: Language) -> str:
        return self.title_zh if language == "zh" else self.title_en

    def material_names(self, language: Language) -> list[str]:
        return [MATERIALS[slug].name(language) for slug in self.materials]

    def allergen_names(self, language: Language) -> list[str]:
        return [ALLERGENS[slug].name(language) for slug in self.allergens]


def load_products() -> list[Product]:
    """The demo catalogue, ordered by item id. Raises pydantic.ValidationError where a line is not a product."""
    lines: list[str] = []
    for slug in DOMAINS:
        text = files("agent.catalogue").joinpath("data", f"{slug}.jsonl").read_text(encoding="utf-8")
        lines.extend(text.splitlines())
    return sorted((Product.model_validate_json(line) for line in lines), key=lambda product: product.item_id)
