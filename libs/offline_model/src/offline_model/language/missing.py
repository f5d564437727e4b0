"""What a request lacks that nobody can guess; only then is a question better than a first try."""

import re
from enum import StrEnum

from offline_model.language.countries import country_code, shipping_mentions
from offline_model.language.demands import names_recipient
from offline_model.language.domains import main_product, product_words
from offline_model.language.intents import Intent, asks_how_things_are
from offline_model.language.languages import is_chinese
from offline_model.language.money import price_bounds
from offline_model.language.references import places_in, points_at_one
from offline_model.language.wishes import Wishes

_JUST_A_GIFT = re.compile(
    r"礼物|礼品|(?:生日|什么|点)礼$|\b(?:gifts?|present)\b(?! (?:box|card|bag|wrap))", re.IGNORECASE
)
_CLOSER_CHINESE = re.compile(
    r".*(?:[，。,.：:\s]|[买找看想问把算]|一下|[这那][个款]|[一两][个款双件条只]|^)(?P<closer>[一-龥A-Za-z0-9]{0,8})$"
)
_CLOSER_ENGLISH = re.compile(r".*\b(?:an?|the|of|for|this|that|my)\s+(?P<closer>(?:[\w-]+\s+){0,3})$", re.IGNORECASE)


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
        says_what = product_to_price(words, wishes) is not None or places_in(words) or points_at_one(words)
        lacking = ((Missing.PRODUCT, says_what), (Missing.DESTINATION, destination_of(words)))
        return [missing for missing, said in lacking if not said]
    if intent is Intent.PRODUCT_SEARCH and _JUST_A_GIFT.search(words) and not _says_what_gift(words, wishes):
        return [Missing.RECIPIENT]
    return []


def product_to_price(words: str, wishes: Wishes) -> str | None:
    """The product that a question about its price at the door names, with the words that tell which."""
    named = main_product(words)
    if named is None:
        return next(iter(wishes.queries), None)
    before = words[: words.casefold().rfind(named.word.casefold())]
    closer = _CLOSER_CHINESE if is_chinese(named.word) else _CLOSER_ENGLISH
    found = closer.search(before)
    return (found["closer"] if found else "") + named.word


def destination_of(words: str) -> str | None:
    """Where a price at the door is asked for: then a bare country is a destination too."""
    mentioned = shipping_mentions(words)
    return mentioned[-1].code if mentioned else country_code(words)


def _says_what_gift(words: str, wishes: Wishes) -> bool:
    """A hint is enough: for whom, for how much, or what kind of thing."""
    things = [product.word for product in product_words(words)]
    named = [thing for thing in (*things, *wishes.queries) if not _JUST_A_GIFT.search(thing)]
    return bool(named or names_recipient(words) or price_bounds(words).maximum is not None)
