"""Price bounds in the user's words: 「500 元以内」, "between $20 and $50", 「三百块左右」."""

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from offline_model.language.languages import is_chinese

_CURRENCIES = {
    "CNY": ("人民币", "元", "块钱", "块", "rmb", "cny", "yuan", "¥", "￥"),
    "USD": ("美元", "美金", "us$", "$", "usd", "dollars", "dollar", "bucks"),
    "EUR": ("欧元", "€", "eur", "euros", "euro"),
    "JPY": ("日元", "円", "jpy", "yen"),
    "GBP": ("英镑", "£", "gbp", "pounds", "pound"),
}
_CODES = {name: code for code, names in _CURRENCIES.items() for name in names}
_CURRENCY = "|".join(re.escape(name) for name in sorted(_CODES, key=lambda name: (-len(name), name)))
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_NUMERALS = r"[一二两三四五六七八九十百千万零]+"
_AMOUNT = re.compile(
    rf"(?P<sign>{_CURRENCY})?\s*(?<![\w.])?(?P<number>{_DIGITS}|"
    rf"{_NUMERALS})\s*(?P<unit>{_CURRENCY})?",
    re.IGNORECASE,
)
_MEASURES = re.compile(
    r"\s*(?:寸|英寸|厘米|毫米|毫升|升|公斤|千克|斤|克|天|小时|分钟|岁|年|个|件|款|人|片|码|度|%|"
    r"(?:inch|inches|cm|mm|ml|l|liters?|litres?|kg|g|days?|hours?|years?|pieces?|w|mah)\b)",
    re.IGNORECASE,
)

_LESS_BEFORE = re.compile(
    r"(?:不超过|不要超过|别超过|最多|低于|少于|小于|控制在|预算(?:是|在|大概|大约|为|:|：)*|"
    r"\b(?:under|below|less than|up to|at most|max(?:imum)?(?: of)?|no more than|cheaper than|within|"
    r"budget(?: is| of|:)?(?: about| around)?))\s*$",
    re.IGNORECASE,
)
_LESS_AFTER = re.compile(r"\s*(?:以内|以下|之内|内|封顶|的?预算|(?:or less|or under|max|tops|budget)\b)", re.IGNORECASE)
_MORE_BEFORE = re.compile(
    r"(?:至少|不低于|高于|大于|(?<!不)(?<!不要)(?<!别)超过|\b(?:over|above|more than|at least|from))\s*$",
    re.IGNORECASE,
)
_MORE_AFTER = re.compile(r"\s*(?:以上|起步|起|(?:or more|and up|plus)\b)", re.IGNORECASE)
_ABOUT_BEFORE = re.compile(r"(?:大概|大约|约|\b(?:around|about|roughly|approximately))\s*$", re.IGNORECASE)
_ABOUT_AFTER = re.compile(r"\s*(?:左右|上下|\bor so\b)", re.IGNORECASE)
_BETWEEN_BEFORE = re.compile(r"(?:\bbetween|在)\s*$", re.IGNORECASE)
_RANGE = re.compile(r"\s*(?:-|–|—|~|～|到|至|\bto\b|\band\b)\s*$", re.IGNORECASE)

_WANTED_IN = re.compile(rf"(?:用|按|换成|折成|以|\bin )\s*(?P<currency>{_CURRENCY})(?![\w]*\d)", re.IGNORECASE)

_SURELY_MONEY = 100
"""「三百左右」 without a currency is a price; 「四十左右」 may be an age."""

_NUMERAL_VALUES = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_NUMERAL_UNITS = {"十": 10, "百": 100, "千": 1000}


@dataclass(frozen=True)
class PriceBounds:
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    currency: str | None = None
    spans: tuple[tuple[int, int], ...] = ()
    """Where the words of the bounds stand."""


@dataclass(frozen=True)
class _Amount:
    number: Decimal
    currency: str | None
    start: int
    end: int


@lru_cache(maxsize=512)
def price_bounds(text: str) -> PriceBounds:
    """The bounds a text sets; a bound without a currency is in that of the text's language."""
    amounts = _amounts(text)
    for first, second in pairwise(amounts):
        if _RANGE.fullmatch(text[first.end : second.start]) and (first.currency or second.currency):
            currency = second.currency or first.currency
            low, high = sorted((first.number, second.number))
            start = _start_of_bound(text[: first.start], first)
            return PriceBounds(low, high, currency, ((start, _end_of_bound(text, second)),))
    return _single_bounds(text, amounts)


def _single_bounds(text: str, amounts: list[_Amount]) -> PriceBounds:
    minimum = maximum = currency = None
    spans: list[tuple[int, int]] = []
    for amount in amounts:
        before, after = text[: amount.start], text[amount.end :]
        at_most = _LESS_BEFORE.search(before) or _LESS_AFTER.match(after)
        at_least = _MORE_BEFORE.search(before) or _MORE_AFTER.match(after)
        about = _ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(after)
        if at_most:
            maximum = amount.number
        elif at_least:
            minimum = amount.number
        elif about and (amount.currency or amount.number >= _SURELY_MONEY):
            minimum, maximum = amount.number * Decimal("0.8"), amount.number * Decimal("1.2")
        else:
            continue
        currency = amount.currency or currency
        spans.append((_start_of_bound(before, amount), _end_of_bound(text, amount)))
    if not spans:
        return PriceBounds()
    return PriceBounds(minimum, maximum, currency or ("CNY" if is_chinese(text) else "USD"), tuple(spans))


def _amounts(text: str) -> list[_Amount]:
    """Numbers that may be prices: with a currency, or at least not counting or measuring something else."""
    found: list[_Amount] = []
    for match in _AMOUNT.finditer(text):
        name = match["sign"] or match["unit"]
        number = _number(match["number"])
        if number is None or (name is None and (number < 10 or _MEASURES.match(text, match.end()))):
            continue
        found.append(_Amount(number, _CODES[name.lower()] if name else None, match.start(), match.end()))
    return found


def _number(text: str) -> Decimal | None:
    if text[0].isdigit():
        return Decimal(text.replace(",", ""))
    return _chinese_number(text)


def _chinese_number(text: str) -> Decimal | None:
    """三百, 一千五, 两万; None for a numeral without a unit, which counts things (一个) rather than money."""
    if not any(character in "十百千万" for character in text):
        return None
    total, digit, last_unit = 0, 0, 1
    for character in text:
        if character in _NUMERAL_VALUES:
            digit = _NUMERAL_VALUES[character]
        elif character == "万":
            total, digit, last_unit = (total + digit) * 10_000, 0, 10_000
        else:
            last_unit = _NUMERAL_UNITS[character]
            total, digit = total + (digit or 1) * last_unit, 0
    return Decimal(total + digit * (last_unit // 10 or 1))


def _start_of_bound(before: str, amount: _Amount) -> int:
    for pattern in (_LESS_BEFORE, _MORE_BEFORE, _ABOUT_BEFORE, _BETWEEN_BEFORE):
        if found := pattern.search(before):
            return found.start()
    return amount.start


def _end_of_bound(text: str, amount: _Amount) -> int:
    for pattern in (_LESS_AFTER, _MORE_AFTER, _ABOUT_AFTER):
        if found := pattern.match(text, amount.end):
            return found.end()
    return amount.end


def currency_in(text: str) -> str | None:
    """The currency that an amount is wanted in: 「用欧元算」, "in euros"."""
    found = _WANTED_IN.search(text)
    return _CODES[found["currency"].lower()] if found else None
