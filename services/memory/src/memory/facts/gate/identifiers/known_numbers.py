"""Long numbers that are no identifiers: dates, times, ranges, sizes, prices, numbers of standards and books.

They are blanked out before anybody counts digits; what stands between and beside them is still looked at.
"""

import re
from collections.abc import Callable
from itertools import pairwise

from stdnum import isbn

_BLANK = "\0"

_YEAR = r"(?:19|20)\d\d"
_MONTH = r"(?:1[0-2]|0?[1-9])"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])"
_DATE = (
    rf"(?:{_YEAR}[-/.年 ]{_MONTH}(?:[-/.月]{_DAY}日?)?"
    rf"|{_MONTH}[-/.]{_DAY}[-/.]{_YEAR}"
    rf"|{_DAY}[-/.]{_MONTH}[-/.]{_YEAR}"
    rf"|{_MONTH}[-/.]{_YEAR})"
)
# A date that goes on with digits is none: 2010-10-10-1234.
_DATES = re.compile(rf"(?<!\d)(?<!\d[-/.]){_DATE}(?: ?[-~] ?{_DATE})?(?!\d)(?![-/.]\d)")
_YEARS = re.compile(rf"(?<!\d)(?<!\d[-/.]){_YEAR}(?: ?[-/~, ] ?{_YEAR})+(?!\d)(?![-/.]\d)")
_TIMES = re.compile(
    r"(?<!\d)(?:2[0-3]|[01]?\d):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:[+-](?:0\d|1[0-4]):[0-5]\d)?(?!\d)"
)
# GB/T 22843-2009, ISO 9001:2015, EN 71-3, FZ/T 62011.3-2008: letters, a short number, perhaps a part and a year.
_STANDARDS = re.compile(
    rf"(?<![a-z0-9])(?:[a-z]{{1,6}}(?:/[a-z]{{1,6}})? ?\d{{2,6}}(?:\.\d{{1,3}})?(?:-\d{{1,2}})?[-:]{_YEAR}"
    r"|(?:gb|iso|iec|en|din|astm|jis|ansi)(?:/[a-z]{1,3})? ?\d{2,6}(?:[-.:]\d{1,4})?)(?![\d-])"
)
_BOOKS = re.compile(r"(?<!\d)(?<!\d-)(?:97[89][- ]?)?(?:\d[- ]?){9}[\dx](?![\dx-])")
_DECIMALS = re.compile(r"(?<![\d.])\d{1,4}\.\d{1,2}(?: ?[-~] ?\d{1,4}\.\d{1,2})+(?![\d.])")

_UNIT = r"(?:元|块|圆|円|日元|美元|欧元|港币|台币|英镑|rmb|cny|usd|eur|gbp|jpy|hkd|yuan|dollars?|euros?|yen|[€£¥$])"
_MEASURE = rf"(?:{_UNIT}|人民币|mah|wh|kg|g|ml|l|mm|cm|m|k|w|v|hz|rpm|lm|克|毫升|毫米|厘米|米|瓦|流明)"
# Two letters at least: a single one behind a number may be anything.
_QUANTITIES = re.compile(
    rf"(?<![\d.])\d{{1,5}}(?:\.\d{{1,3}})? ?(?:{_UNIT}"
    r"|mah|wh|kg|ml|mm|cm|hz|rpm|lm|gb|tb|克|毫升|毫米|厘米|米|瓦|流明|寸|岁|码)(?![a-z])"
)
_GROUPED = re.compile(
    r"(?<![\d.])(?P<before>(?:[€£¥$]|usd|eur|gbp|rmb) ?)?\d{1,3}(?:(?P<gap>[ .])\d{3})(?:(?P=gap)\d{3}){0,2}(?!\d)"
    rf"(?P<after> ?{_UNIT})?"
)
_RANGES = re.compile(
    rf"(?<![\d./-])(?P<before>[€£¥$] ?)?(?P<low>[1-9]\d{{1,5}}) ?[-~] ?[€£¥$]?(?P<high>[1-9]\d{{1,5}})(?!\d)(?![-/.]\d)"
    rf"(?P<after> ?{_MEASURE}(?![a-z]))?"
)
_STEPS = re.compile(
    r"(?<![\d./-])[1-9]\d{1,3}(?:(?P<gap> ?[-/, ] ?)[1-9]\d{1,3})(?:(?P=gap)[1-9]\d{1,3})+(?!\d)(?![-/.]\d)"
)
_DIGITS = re.compile(r"\d+")

_WIDEST_RANGE = 20
"""How many times the low end the high end of a range may be."""


def without_known_numbers(numbers: str) -> str:
    """The same text, in the same length, with every known number blanked out."""
    for form, is_known in _KNOWN:
        numbers = form.sub(lambda match, known=is_known: _blanked(match, known), numbers)  # type: ignore[misc]
    return numbers


def _blanked(match: re.Match[str], is_known: Callable[[re.Match[str]], bool]) -> str:
    return _BLANK * len(match.group()) if is_known(match) else match.group()


def _always(_: re.Match[str]) -> bool:
    return True


def _is_book(match: re.Match[str]) -> bool:
    """A right check digit, and written as a book's number: the 978 of a new one, or the four parts of an old one."""
    written = match.group().strip()
    if not isbn.is_valid(written):
        return False
    return written.startswith(("978", "979")) or isbn.format(written) == written.upper()


def _is_price(match: re.Match[str]) -> bool:
    """Thousands in groups, beside a currency."""
    return bool(match["before"] or match["after"])


def _is_range(match: re.Match[str]) -> bool:
    """From a lower number to a higher one of about its size; round, or with a unit."""
    low, high = int(match["low"]), int(match["high"])
    if not low < high <= low * _WIDEST_RANGE:
        return False
    return bool(match["before"] or match["after"]) or (low % 10 == 0 and high % 10 == 0)


def _are_steps(match: re.Match[str]) -> bool:
    """Sizes come in equal steps: 36 38 40 42 44."""
    values = [int(digits) for digits in _DIGITS.findall(match.group())]
    steps = {after - before for before, after in pairwise(values)}
    return len(steps) == 1 and min(steps) > 0


_KNOWN: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
    (_BOOKS, _is_book),
    (_STANDARDS, _always),
    (_DATES, _always),
    (_TIMES, _always),
    (_YEARS, _always),
    (_DECIMALS, _always),
    (_GROUPED, _is_price),
    (_RANGES, _is_range),
    (_QUANTITIES, _always),
    (_STEPS, _are_steps),
)
