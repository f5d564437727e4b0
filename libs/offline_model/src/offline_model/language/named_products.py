"""Whether a request names one certain product: by brand, by model number, or in quotation marks."""

import re

from offline_model.language.languages import is_chinese
from offline_model.language.wishes import Wishes

_MODEL = re.compile(r"(?<![A-Za-z0-9-])(?=[A-Za-z-]*\d)(?=[\d-]*[A-Za-z])[A-Za-z0-9][A-Za-z0-9-]{2,}(?![A-Za-z0-9-])")
_NUMBER = re.compile(
    r"(?<![\d.A-Za-z-])\d{4,6}(?![\d.A-Za-z]|\s*(?:元|块|美元|欧元|日元|毫升|毫安|转|年|片|mah|"
    r"ml|w\b))",
    re.IGNORECASE,
)
"""Four digits and more that count and measure nothing."""
_MEASURE = re.compile(
    r"\d+(?:\.\d+)?-?(?:ml|l|cm|mm|m|g|kg|w|wh|mah|inch|in|oz|gb|tb|v|hz|k|p|d|pcs|pack|piece|person|in-1)s?",
    re.IGNORECASE,
)
_BRAND_CHINESE = re.compile(r"(?<!品)(?<!什么)(?<!大)牌(?:子)?的?(?=[一-龥A-Za-z])|[A-Z][a-z]{2,}")
_QUOTED = re.compile(r"[「『《“\"](?P<name>[^」』》”\"]{2,40})[」』》”\"]")
_CAPITAL = re.compile(r"\b[A-Z][a-z]+[A-Z]?\w*\b|\b[A-Z]{3,}\b")
_NO_NAMES = frozenset(
    {
        *(
            "Type",
            "Bluetooth",
            "Usb",
            "USB",
            "LED",
            "TWS",
            "ANC",
            "GPS",
            "RGB",
            "HDMI",
            "EU",
            "UK",
            "USA",
            "Wifi",
            "WiFi",
        ),
        *(
            "Japanese",
            "Chinese",
            "German",
            "French",
            "Italian",
            "Swiss",
            "Korean",
            "English",
            "Spanish",
            "American",
            "British",
        ),
        *("Christmas", "Halloween", "Easter", "Valentine", "Mother", "Father", "Bohemian", "Nordic", "Scandinavian"),
        *(
            "Germany",
            "France",
            "Japan",
            "China",
            "Italy",
            "Spain",
            "Korea",
            "Britain",
            "England",
            "Canada",
            "Australia",
        ),
    }
)


def names_one_product(words: str, wishes: Wishes) -> bool:
    """Of one thing only: who names two things has something to compare or to put together."""
    if len(wishes.queries) != 1:
        return False
    quoted = (found["name"] for found in _QUOTED.finditer(words))
    return _is_name(wishes.queries[0]) or any(name in wishes.queries[0] for name in quoted)


def _is_name(query: str) -> bool:
    models = (found.group() for found in _MODEL.finditer(query))
    if any(not _MEASURE.fullmatch(model) for model in models) or _NUMBER.search(query):
        return True
    pattern = _BRAND_CHINESE if is_chinese(query) else _CAPITAL
    return any(found.group() not in _NO_NAMES for found in pattern.finditer(query))
