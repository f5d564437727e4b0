"""Nine or more digits in a row: cards, accounts, phones, national numbers (S0 section 8).

Written: spaces, dashes, dots and parentheses between. Beyond that, where the number itself shows what it is: other
separators in the groups of a mobile number, a code with leading zeros, a card whose check digit is right.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

import phonenumbers
import re2
from stdnum import luhn
from stdnum.cn import ric

from memory.facts.gate.identifiers.known_numbers import without_known_numbers
from memory.facts.gate.normalisation import ScannedText

LONG = 9

_LONG_RUN = re.compile(rf"\d(?:[ \-.()]{{0,6}}\d){{{LONG - 1},}}")
_LONG_RUN_WITH_X = re.compile(rf"{_LONG_RUN.pattern} ?x?")
_NO_ID = re.compile(r"[^\dx]")
_WIDE_RUN = re.compile(r"\d(?:(?:[ \-()/_~·|]{0,3}|[ .]{0,2}ext[.:]{0,2} ?)\d)*")
_MOBILE = re.compile(r"(?<!\d)1[3-9]\d[ \-.()]{0,3}\d{4}[ \-.()]{0,3}\d{4}(?!\d)")
_MOBILE_GROUPS = re.compile(r"(?<!\d)1[3-9]\d([^\w\s*×、]{1,2})\d{4}\1\d{4}(?!\d)")
_SINGLE_DIGITS = re.compile(rf"(?<!\d)\d(?:[^\w*×]{{1,3}}\d(?!\d)){{{LONG - 1},}}")
_SPELLED = re2.compile(
    r"\b(?:(?:\d|(?:zero|oh|one|two|three|four|five|six|seven|eight|nine"
    rf"|null|eins|zwei|zwo|drei|vier|fünf|sechs|sieben|acht|neun)\b)[ ,.\-]{{0,3}}){{{LONG},}}"
)
_FEWEST_NUMBER_WORDS = 3
_WORDS = re.compile(r"[a-zü]+")
_GROUPS = re.compile(r"\d+")
_SEPARATORS = re.compile(r"\D+")


def holds_long_number(scanned: ScannedText) -> bool:
    if _is_spelled_out(scanned.text):
        return True
    if scanned.digit_count < LONG:
        return False
    # Before a birth date is taken out of the middle, or a last group that has a unit behind it.
    if _MOBILE.search(scanned.numbers) or _holds_chinese_id(scanned.numbers):
        return True
    return _looks_long(scanned.numbers) and _is_long(without_known_numbers(scanned.numbers))


def _holds_chinese_id(numbers: str) -> bool:
    return any(ric.is_valid(_NO_ID.sub("", match.group())) for match in _LONG_RUN_WITH_X.finditer(numbers))


def _looks_long(numbers: str) -> bool:
    """Whether it is worth looking for dates and prices."""
    return _has_long_form(numbers) or next(wide_runs(numbers, LONG), None) is not None


def _is_long(numbers: str) -> bool:
    return _has_long_form(numbers) or any(_is_code(run) for run in wide_runs(numbers, LONG))


def _has_long_form(numbers: str) -> bool:
    return any(form.search(numbers) is not None for form in (_LONG_RUN, _MOBILE_GROUPS, _SINGLE_DIGITS))


def wide_runs(numbers: str, fewest_digits: int) -> Iterator[str]:
    """Runs of digits with any usual separator between that have at least so many digits."""
    for match in _WIDE_RUN.finditer(numbers):
        if len(match.group()) >= fewest_digits and len(_compact(match.group())) >= fewest_digits:
            yield match.group()


def _is_spelled_out(text: str) -> bool:
    """「one three eight zero zero 1 3 8 zero」: number words, perhaps with digits between."""
    if text.count(" ") + text.count("-") + text.count(",") < _FEWEST_NUMBER_WORDS - 1:
        return False
    return any(len(_WORDS.findall(match.group())) >= _FEWEST_NUMBER_WORDS for match in _SPELLED.finditer(text))


def _is_code(run: str) -> bool:
    """Whether a run with separators beyond the written four is an identifier and no list of quantities."""
    groups = _GROUPS.findall(run)
    digits = "".join(groups)
    if "ext" in run or _has_leading_zero(groups):
        return True
    if [len(group) for group in groups] == [4, 4, 4, 4] and luhn.is_valid(digits):
        return True
    return not _is_list(run, groups) and _is_american(groups)


def _has_leading_zero(groups: list[str]) -> bool:
    """A quantity has none."""
    return (len(groups[0]) > 1 and groups[0][0] == "0") or any(len(group) > 2 and group[0] == "0" for group in groups)


def _is_list(run: str, groups: list[str]) -> bool:
    """165/170/175: one separator, and every number higher than the one before."""
    if len(set(_SEPARATORS.findall(run))) > 1:
        return False
    values = [int(group) for group in groups]
    return all(low < high for low, high in pairwise(values))


def _is_american(groups: list[str]) -> bool:
    """415/555-2671. Other countries write a leading zero or a country code."""
    if [len(group) for group in groups[-3:]] != [3, 3, 4] or groups[:-3] not in ([], ["1"]):
        return False
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse("".join(groups), "US"))
    except phonenumbers.NumberParseException:
        return False


def _compact(run: str) -> str:
    return "".join(_GROUPS.findall(run))
