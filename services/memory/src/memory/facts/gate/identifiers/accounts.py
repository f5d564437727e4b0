"""Bank accounts in the international form (IBAN). Most are long numbers too; here are those with letters."""

import re

from stdnum import iban, numdb

from memory.facts.gate.normalisation import ScannedText

_GROUPED = re.compile(r"(?<![a-z0-9])[a-z]{2}\d{2}(?:[ .\-]?[a-z0-9]{1,4}){3,8}(?![a-z0-9])")
_IN_ONE = re.compile(r"(?<![a-z0-9])[a-z]{2}\d{2}[a-z0-9]{11,30}(?![a-z0-9])")
_SEPARATORS = re.compile(r"[ .\-]")
_FEWEST_DIGITS = 8
_SHORTEST = 15


def holds_iban(scanned: ScannedText) -> bool:
    if scanned.digit_count < _FEWEST_DIGITS:
        return False
    return any(
        _has_iban_form(_SEPARATORS.sub("", match.group()))
        for form in (_IN_ONE, _GROUPED)
        for match in form.finditer(scanned.text)
    )


def _has_iban_form(compact: str) -> bool:
    """A country that issues IBANs, and mostly digits. A wrong checksum is a typing error and no excuse."""
    if iban.is_valid(compact):
        return True
    digits = sum(map(str.isdigit, compact))
    return len(compact) >= _SHORTEST and digits * 2 >= len(compact) and _is_of_iban_country(compact)


def _is_of_iban_country(compact: str) -> bool:
    return bool(numdb.get("iban").info(compact[:4].upper())[0][1])
