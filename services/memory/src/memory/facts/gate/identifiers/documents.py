"""Passports, identity cards and national numbers with letters (those of digits alone are long numbers)."""

import re
from collections.abc import Callable

import re2
from stdnum.es import dni, nie
from stdnum.fi import hetu
from stdnum.in_ import pan
from stdnum.it import codicefiscale
from stdnum.mx import curp

from memory.facts.gate.normalisation import ScannedText

_FEWEST_DIGITS = 4

_NAMED = re2.compile(
    r"护照|護照|通行证|身份证|身分證|证件号|社保号|驾照|驾驶证|银行卡号?|信用卡号|卡号|账号|帐号|賬號"
    r"|passport|reisepass|passeport|identity (?:card|code|number)|\bid (?:card|number|no)\b|personalausweis"
    r"|driver'?s? licen[cs]e|social security|\bssn\b|national insurance|\bnino\b"
    r"|steuer-?(?:id|nummer|identifikationsnummer)|tax (?:id|number)"
    r"|(?:account|card|iban|customer|policy) (?:number|no)\b|kontonummer|kartennummer"
)
_NUMBER = re.compile(r"(?<![a-z0-9])[a-z]{0,3} ?\d(?:[ \-./]?[a-z0-9]){4,20}(?![a-z0-9])")
_REACH = 40
_NAMED_DIGITS = 6

_PRODUCT_NUMBER = re.compile(
    r"(?:sku|型号|货号|款号|编号|model|modell|item|article|artikel|\bart\b|\bref\b|\bpart\b|品番|商品|\bno\b)[^a-z0-9]{0,6}$"
)

_TOKEN = re.compile(r"(?<![a-z0-9])[a-z0-9](?:[+\-]?[a-z0-9]){7,18}(?![a-z0-9])")
# A letter and eight digits (China, Germany and others), or two letters and seven (Italy, Japan and others).
_PASSPORT = re.compile(r"[a-z]\d{8}|[a-z]{2}\d{7}")
_NATIONAL: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
    (re.compile(r"\d{8}-?[a-z]"), dni.is_valid),
    (re.compile(r"[xyz]-?\d{7}-?[a-z]"), nie.is_valid),
    (re.compile(r"\d{6}[+\-a-fu-y]\d{3}[0-9a-y]"), hetu.is_valid),
    (re.compile(r"[a-z]{6}\d\d[a-z]\d\d[a-z]\d{3}[a-z]"), codicefiscale.is_valid),
    (re.compile(r"[a-z]{3}p[a-z]\d{4}[a-z]"), pan.is_valid),
    (re.compile(r"[a-z]{4}\d{6}[hm][a-z]{5}[0-9a-z]\d"), curp.is_valid),
    (re.compile(r"[stfg]\d{7}[a-z]"), lambda _: True),  # Singapore; no check digit in the library
)
_BRITISH = re.compile(r"(?<![a-z0-9])[a-ceghj-prstw-z][a-ceghj-nprstw-z] ?\d\d ?\d\d ?\d\d ?[a-d](?![a-z0-9])")


def holds_document_number(scanned: ScannedText) -> bool:
    if scanned.digit_count < _FEWEST_DIGITS:
        return False
    text = scanned.text
    return (
        _is_named(scanned)
        or any(_is_document(match) for match in _TOKEN.finditer(text))
        or _BRITISH.search(text) is not None
    )


def _is_named(scanned: ScannedText) -> bool:
    """「护照号 …」, "my passport is …": letters and digits right behind the name, or under such a key."""
    if _NAMED.search(scanned.about) and _is_number(scanned.text):
        return True
    return any(_is_number(scanned.text[match.end() : match.end() + _REACH]) for match in _NAMED.finditer(scanned.text))


def _is_number(text: str) -> bool:
    return any(sum(map(str.isdigit, number)) >= _NAMED_DIGITS for number in _NUMBER.findall(text))


def _is_document(token: re.Match[str]) -> bool:
    if _PASSPORT.fullmatch(token.group()):
        return not _PRODUCT_NUMBER.search(token.string[max(0, token.start() - 16) : token.start()])
    return any(form.fullmatch(token.group()) is not None and is_valid(token.group()) for form, is_valid in _NATIONAL)
