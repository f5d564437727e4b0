"""Where somebody lives: a street with a house number, where it is said, or shows, that it is a person's.

A shop's address is no secret (「常去的店在广安门内大街217号」), so a street with a number alone is not refused. What
decides is a room or flat, words such as 「我家」 or "ship to", the key, a postcode, or that
the address is all there is.
"""

import re

import re2

from memory.facts.gate.normalisation import ScannedText

_CHINESE_STREET = re.compile(
    r"[\u4e00-\u9fff\d]{1,16}(?:路|街|道|巷|弄|胡同|里|村|段|坊)[东西南北中]?(?:\d{1,4}[弄巷])?[甲乙丙丁附]?\d{1,5}(?:-\d{1,4})?[号號]"
)
_CHINESE_ROOM = re.compile(
    r"\d{1,3}(?:栋|幢|座|号楼|號樓)?\d{1,2}单元\d{2,4}|\d{1,3}(?:栋|幢|号楼|號樓)\d{3,4}(?:室|户|房)?"
)
_CHINESE_DOOR = re.compile(r"\d{2,4}(?:室|户|房间?)")
# Province, city, district, and on to the house: nothing says what is there.
_CHINESE_WHOLE = re.compile(
    r" ?(?:[^\W\da-z在是址]{2,7}?(?:省|市|区|县|镇|州)){1,4}[^\Wa-z]{1,40}[号號][^\Wa-z]{0,16}[。.]? ?"
)

_ENGLISH_STREET = re.compile(
    r"(?<![\w.])\d{1,5}[a-z]?,? (?:[a-z][a-z.'\-]{0,20},? ){1,4}?"
    r"(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|terrace"
    r"|crescent|close|highway|hwy|parkway|way|place|square|quay)\b"
)
_STREET_WORD = re2.compile(
    r"street|\bst\b|ave|road|\brd\b|lane|\bln\b|\bdr\b|drive|blvd|boulevard|court|terrace|crescent|close|highway|hwy|way\b|place|square"
    r"|quay|stra(?:ß|ss)e|str\.|allee|gasse|platz|weg\b|damm|ufer"
)
_NO_STREET_NAME = re.compile(r"\b(?:of|the|on|for|in|and|with|to|by|per|an?|cm|mm|km|m|inch) (?:\w+)$")
_GERMAN_STREET = re.compile(
    r"[a-zäöüß.\-]{2,30}(?:straße|strasse|str\.|allee|gasse|platz|weg|damm|ufer) ?\d{1,4} ?[a-z]?(?![a-z0-9])"
)
_POSTCODE = re.compile(r"\b[a-z]{2} \d{5}(?:-\d{4})?\b|\b[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}\b|(?<!\d)\d{5} [a-zäöüß]{3,}")
_FLAT = re.compile(r"\b(?:apt|apartment|unit|suite|flat|wohnung)\b\.? ?#?\d{1,5}[a-z]?\b")
_REST_OF_ADDRESS = re.compile(r"(?:,? ?[a-zäöüß.'\-]+){0,6}\.? ?")

_PERSONAL = re2.compile(
    r"我家|家住|住在|我住|住址|家庭地址|(?:收货|收件|邮寄|寄件|送货|我的)地址|(?:寄|送|发货)到"
    r"|\b(?:i|we) (?:now )?live\b|\blives? at\b|\bresid(?:e|es|ing)\b"
    r"|\bmy (?:new |delivery |shipping |mailing )?address\b|\bhome address\b"
    r"|\b(?:ship|deliver|send|mail)\b[^,.;]{0,30}\bto\b"
    r"|\bich wohne\b|\bwohnhaft\b|\b(?:liefer|heim|wohn)?adresse\b|\bzu hause\b|\b(?:liefern|schicken|senden)\b"
)
_ABOUT = re2.compile(
    r"address|\baddr\b|\bhome\b|residence|\bship(?:ping)? to\b|deliver|recipient|adresse|地址|住址|收货|家"
)


def holds_home_address(scanned: ScannedText) -> bool:
    if scanned.digit_count == 0:
        return False
    return _is_chinese_home(scanned) or _is_western_home(scanned)


def _is_chinese_home(scanned: ScannedText) -> bool:
    numbers = scanned.numbers
    if numbers.isascii():
        return False
    if _CHINESE_ROOM.search(numbers):
        return True
    street = _CHINESE_STREET.search(numbers) if "号" in numbers or "號" in numbers else None
    if street is None:
        return False
    return (
        _is_somebodys(scanned)
        or _CHINESE_DOOR.search(numbers, street.end()) is not None
        or _CHINESE_WHOLE.fullmatch(numbers) is not None
    )


def _is_western_home(scanned: ScannedText) -> bool:
    text = scanned.text
    if not _STREET_WORD.search(text):
        return False
    street = _english_street(text) or _GERMAN_STREET.search(text)
    if street is None:
        return False
    return (
        _is_somebodys(scanned)
        or _POSTCODE.search(text, street.end()) is not None
        or _FLAT.search(text) is not None
        or (not text[: street.start()].strip() and _REST_OF_ADDRESS.fullmatch(text, street.end()) is not None)
    )


def _english_street(text: str) -> re.Match[str] | None:
    """A number and a name that ends like a street; 「5 km on the road」 is none."""
    return next((match for match in _ENGLISH_STREET.finditer(text) if not _NO_STREET_NAME.search(match.group())), None)


def _is_somebodys(scanned: ScannedText) -> bool:
    return _PERSONAL.search(scanned.text) is not None or _ABOUT.search(scanned.about) is not None
