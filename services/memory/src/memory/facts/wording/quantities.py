"""Numbers with their units: 42 码, 3 岁, 500 元, EU 38, 5 kg."""

import re

_DIGITS = {"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9}
_PLACES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_COUNTERS = "个只条双件码号元块岁斤克米寸升毫杯次天年月周台辆瓶包盒位口套度匹页层楼折倍英厘公"

_CHINESE_NUMBER = re.compile(rf"[零一二两三四五六七八九十百千万]+(?=\s*[{_COUNTERS}])")
# 一个 and its like count nothing.
_NOT_COUNTED = re.compile(r"^一(?=[个次天些下般样直起种])")
_WRITTEN = "zero one two three four five six seven eight nine ten eleven twelve"
_ENGLISH_NUMBERS = {word: str(number) for number, word in enumerate(_WRITTEN.split())}
_ENGLISH_NUMBER = re.compile(rf"\b(?:{'|'.join(_ENGLISH_NUMBERS)})\b")

_UNITS = (
    r"公斤|千克|毫克|克|斤|磅|厘米|毫米|公分|英寸|英尺|米|寸|毫升|升|美元|欧元|日元|英镑|元|块|岁|码|号|度|℃|℉|折|%"
    r"|kgs?|mg|g|lbs?|pounds?|oz|cm|mm|m|inch(?:es)?|in|ft|feet|ml|l|usd|eur|gbp|cny|rmb|jpy|dollars?|euros?"
    r"|英里|公里|千米|天|年|月|周|小时|分钟|miles?|days?|weeks?|hours?|minutes?|years?(?: old)?|months?(?: old)?"
)
_QUANTITY = re.compile(
    rf"(?P<before>eu|us|uk|jp|cn|\$|€|£"
    rf"|¥)?\s*(?<![a-z\d.])(?P<number>\d+(?:[.,]\d+)*)\s*(?P<after>(?:{_UNITS})(?![a-z]))?"
)
_SAME_UNIT = {
    "千克": "kg", "公斤": "kg", "kgs": "kg", "克": "g", "磅": "lb", "lbs": "lb", "pound": "lb", "pounds": "lb",
    "厘米": "cm", "公分": "cm", "毫米": "mm", "米": "m", "英寸": "in", "寸": "in", "inch": "in", "inches": "in",
    "毫升": "ml", "升": "l", "块": "元", "cny": "元", "rmb": "元", "¥": "元", "$": "usd", "美元": "usd",
    "dollar": "usd", "dollars": "usd", "€": "eur", "欧元": "eur", "euro": "eur", "euros": "eur", "£": "gbp",
    "英镑": "gbp", "日元": "jpy", "号": "码", "feet": "ft",
}  # fmt: skip

_COUNTS_TIME = re.compile(r"(?:mile|day|week|hour|minute|year|month)s?\b")

Quantity = tuple[str, str]
"""A number as digits, and its unit ("" where none is named)."""


def with_digits(text: str) -> str:
    """A normalised text whose counted Chinese and English numbers are written in digits."""
    digits = _CHINESE_NUMBER.sub(lambda found: _digits_of(found.group(), text[found.start() :]), text)
    return _ENGLISH_NUMBER.sub(lambda found: _ENGLISH_NUMBERS[found.group()], digits)


def quantities_in(text: str) -> frozenset[Quantity]:
    """The quantities of a text that `with_digits` has seen."""
    return frozenset(
        (found["number"].replace(",", ""), _unit(found["after"] or found["before"] or ""))
        for found in _QUANTITY.finditer(text)
    )


def without_quantities(text: str) -> str:
    return _QUANTITY.sub(" ", text)


def _unit(written: str) -> str:
    unit = re.sub(r"s?(?: old)?$", "", written) if _COUNTS_TIME.match(written) else written
    return _SAME_UNIT.get(unit, unit)


def _digits_of(written: str, following: str) -> str:
    if _NOT_COUNTED.match(following):
        return written
    total = current = 0
    for character in written:
        if character in _DIGITS:
            current = _DIGITS[character]
        else:
            total, current = total + (current or 1) * _PLACES[character], 0
    return str(total + current)
