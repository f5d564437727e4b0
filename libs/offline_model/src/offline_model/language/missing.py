"""What a request lacks that nobody can guess; only then is a question better than a first try."""

import re
from enum import StrEnum

from offline_model.language.countries import country_code, shipping_mentions
from offline_model.language.demands import names_recipient
from offline_model.language.domains import main_product, product_words
from offline_model.language.intents import Intent, asks_how_things_are
from offline_model.language.money import price_bounds
from offline_model.language.wishes import Wishes

_JUST_A_GIFT = re.compile(
    r"礼物|礼品|(?:生日|什么|点)礼$|\b(?:gifts?|present)\b(?! (?:box|card|bag|wrap))", re.IGNORECASE
)


class Missing(StrEnum):
    BUDGET = "budget"
    RECIPIENT = "recipient"
    PRODUCT = "product"
    DESTINATION = "destination"


def missing_in(words: str, wishes: Wishes, intent: Intent) -> list[Missing]:
    """As far as these words go; the session may know what they lack."""
    if intent is Intent.BUNDLE:
        return [] if price_bounds(words).maximum is not None else [Missing.BUDGET]
    if intent is Intent.LANDED_PRICE and not asks_how_things_are(words, intent):
        lacking = ((Missing.PRODUCT, product_to_price(words, wishes)), (Missing.DESTINATION, destination_of(words)))
        return [missing for missing, known in lacking if known is None]
    if intent is Intent.PRODUCT_SEARCH and _JUST_A_GIFT.search(words) and not _says_what_gift(words, wishes):
        return [Missing.RECIPIENT]
    return []


def product_to_price(words: str, wishes: Wishes) -> str | None:
    """The product that a question about its price at the door names."""
    named = main_product(words)
    return named.word if named else next(iter(wishes.queries), None)


def destination_of(words: str) -> str | None:
    """Where a price at the door is asked for: then a bare country is a destination too."""
    mentioned = shipping_mentions(words)
    return mentioned[-1].code if mentioned else country_code(words)


def _says_what_gift(words: str, wishes: Wishes) -> bool:
    """A hint is enough: for whom, for how much, or what kind of thing."""
    things = [product.word for product in product_words(words)]
    named = [thing for thing in (*things, *wishes.queries) if not _JUST_A_GIFT.search(thing)]
    return bool(named or names_recipient(words) or price_bounds(words).maximum is not None)
