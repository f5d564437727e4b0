"""What can be asked of the catalogue, and what it answers."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from agent.catalogue.countries import AskedCountry
from agent.catalogue.currencies import asked_currency
from agent.catalogue.products import CurrencyCode, DomainSlug, Product
from common.text import StorableText

_QUERY_MAX = 500
_WORD_MAX = 80
_WORDS_MAX = 50

Word = Annotated[StorableText, StringConstraints(min_length=1, max_length=_WORD_MAX, strip_whitespace=True)]
Words = Annotated[tuple[Word, ...], Field(max_length=_WORDS_MAX)]


class CatalogueQuery(BaseModel):
    """A search. Raises pydantic.ValidationError on what makes no sense; its messages suit the model.

    An offer that fails a bound, a country, a platform or a brand is simply not part of the answer. One that
    an exclude word hits is reported with the word.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    query: Annotated[StorableText, StringConstraints(min_length=1, max_length=_QUERY_MAX, pattern=r"\S")]
    domain: DomainSlug | None = None
    exclude: Words = ()
    price_min: Annotated[Decimal, Field(ge=0, allow_inf_nan=False)] | None = None
    price_max: Annotated[Decimal, Field(gt=0, allow_inf_nan=False)] | None = None
    currency: Annotated[CurrencyCode, BeforeValidator(asked_currency)] = "CNY"
    """Of the price bounds; an offer in another currency is compared at the demo rates."""
    ships_to: AskedCountry = None
    platforms: Words = ()
    """Empty means all."""
    brands: Words = ()
    """Empty means all."""
    limit: Annotated[int, Field(ge=1, le=50)] = 8

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "CatalogueQuery":
        if self.price_min is not None and self.price_max is not None and self.price_min > self.price_max:
            raise ValueError("price_min is above price_max")
        return self


@dataclass(frozen=True)
class Exclusion:
    """An offer that would have been listed, had the query not ruled it out. `reason` is the exclude word."""

    item_id: str
    reason: str


@dataclass(frozen=True)
class SearchResult:
    """`items` best first; ties by item id, so the same query gives the same list."""

    items: list[Product]
    excluded: list[Exclusion]
