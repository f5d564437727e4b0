"""Phone numbers that are too short for the rule of nine digits: said to be one, or with a country code."""

import re

import phonenumbers
import re2

from memory.facts.gate.identifiers.known_numbers import without_known_numbers
from memory.facts.gate.identifiers.numbers import wide_runs
from memory.facts.gate.normalisation import ScannedText

_SHORT = 7

# 「电话手表」 and "my phone" are things one buys.
_NAMED = (
    r"电话(?!手表|卡|亭)|電話|手机号|手機號|联系方式|聯繫方式|致电|拨打|传真|携帯番号|전화"
    r"|phone (?:number|no\b)|\bphone ?[:=]|(?:mobile|cell|contact|home|office|work) (?:phone|number)"
    r"|telephone|\btel\b|\bfax\b|\bcall me\b|telefon|handynummer|rufnummer|téléphone"
)
_BEFORE = re.compile(rf"(?:{_NAMED})[^\d]{{0,10}}(?=[+(]{{0,2}}\d)")
_AFTER = re.compile(r"是?我的?(?:电话|手机号|号码)")
_ABOUT = re.compile(_NAMED)
_HINT = re2.compile(re.sub(r"\(\?![^)]*\)", "", _NAMED))
_INTERNATIONAL = re.compile(r"\+ ?\d[\d \-.()/~·]{5,20}\d")
_TAIL = 48


def holds_phone_number(scanned: ScannedText) -> bool:
    if scanned.digit_count < _SHORT:
        return False
    if "+" in scanned.numbers and any(map(_is_international, _INTERNATIONAL.findall(scanned.numbers))):
        return True
    about_phones = _ABOUT.search(scanned.about) is not None
    if not (about_phones or _HINT.search(scanned.text) or _AFTER.search(scanned.text)):
        return False
    rest = without_known_numbers(scanned.numbers)
    if about_phones:
        return next(wide_runs(rest, _SHORT), None) is not None
    said_before = (rest[match.end() : match.end() + _TAIL] for match in _BEFORE.finditer(scanned.text))
    said_after = (rest[max(0, match.start() - _TAIL) : match.start()] for match in _AFTER.finditer(scanned.text))
    return any(_begins_with_number(tail) for tail in said_before) or any(_ends_with_number(head) for head in said_after)


def _begins_with_number(tail: str) -> bool:
    run = next(wide_runs(tail, _SHORT), None)
    return run is not None and tail.find(run) <= 2


def _ends_with_number(head: str) -> bool:
    runs = list(wide_runs(head, _SHORT))
    return bool(runs) and head.rstrip(" ,:-()").endswith(runs[-1])


def _is_international(number: str) -> bool:
    try:
        return phonenumbers.is_possible_number(phonenumbers.parse(number, None))
    except phonenumbers.NumberParseException:
        return False
