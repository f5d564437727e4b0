"""Countries by their Chinese and English names, and where the user wants things shipped."""

import re
from dataclasses import dataclass
from functools import lru_cache

_NAMES = {
    "DE": "德国 Germany|Deutschland",
    "FR": "法国 France",
    "GB": "英国 UK|United Kingdom|Great Britain|Britain|England",
    "IT": "意大利 Italy",
    "ES": "西班牙 Spain",
    "PT": "葡萄牙 Portugal",
    "NL": "荷兰 Netherlands|Holland",
    "BE": "比利时 Belgium",
    "AT": "奥地利 Austria",
    "CH": "瑞士 Switzerland",
    "SE": "瑞典 Sweden",
    "NO": "挪威 Norway",
    "DK": "丹麦 Denmark",
    "FI": "芬兰 Finland",
    "PL": "波兰 Poland",
    "CZ": "捷克 Czechia|Czech Republic",
    "HU": "匈牙利 Hungary",
    "GR": "希腊 Greece",
    "IE": "爱尔兰 Ireland",
    "US": "美国 US|USA|U.S.|United States|America",
    "CA": "加拿大 Canada",
    "MX": "墨西哥 Mexico",
    "BR": "巴西 Brazil",
    "AU": "澳大利亚|澳洲 Australia",
    "NZ": "新西兰 New Zealand",
    "JP": "日本 Japan",
    "KR": "韩国 South Korea|Korea",
    "SG": "新加坡 Singapore",
    "MY": "马来西亚 Malaysia",
    "TH": "泰国 Thailand",
    "VN": "越南 Vietnam",
    "ID": "印度尼西亚|印尼 Indonesia",
    "PH": "菲律宾 Philippines",
    "IN": "印度 India",
    "AE": "阿联酋|迪拜 UAE|United Arab Emirates|Dubai",
    "SA": "沙特阿拉伯|沙特 Saudi Arabia",
    "TR": "土耳其 Turkey|Türkiye",
    "RU": "俄罗斯 Russia",
    "UA": "乌克兰 Ukraine",
    "ZA": "南非 South Africa",
    "CN": "中国|国内 China|mainland China",
    "HK": "香港 Hong Kong",
    "TW": "台湾 Taiwan",
}


def _by_name() -> dict[str, str]:
    names: dict[str, str] = {}
    for code, both in _NAMES.items():
        chinese, _, english = both.partition(" ")
        for name in (*chinese.split("|"), *english.split("|")):
            names[name.casefold()] = code
    return names


_CODES = _by_name()


def _alternatives() -> str:
    """Longest first, so that 印度尼西亚 is not read as 印度; short English names only in capitals (US, not us)."""
    by_length = sorted(_CODES, key=lambda name: (-len(name), name))
    capitals = [re.escape(name.upper()) for name in by_length if name.isascii() and len(name) <= 4]
    others = [re.escape(name) for name in by_length if not (name.isascii() and len(name) <= 4)]
    return rf"(?:(?i:{'|'.join(others)})|(?-i:{'|'.join(capitals)}))"


_COUNTRY = _alternatives()
_ANY_COUNTRY = re.compile(_COUNTRY)
_SHIPPING = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:能|可以|可)?(?:直接|直)?(?:寄|发|送|运|邮|快递)(?:货|到|往|去|给|至|回|"
        rf"达)*\s*(?P<country>{_COUNTRY})",
        rf"(?:收货|收件|送货|配送)(?:地址|地|国家|国)?(?:都|一直|默认)?(?:是|为|在|填|"
        rf"[:：])*\s*(?P<country>{_COUNTRY})",
        rf"(?:在)?(?P<country>{_COUNTRY})(?:收货|收件)",
        rf"(?:我|人|我们|她|他|他们)(?:现在|目前)?(?:住|人)?在(?P<country>{_COUNTRY})",
        rf"(?i:shipp?|deliver|send|mail|dispatch)(?i:s|ed|ping|ing|y|ies)?(?:\s+[\w']+){{0,3}}?\s+(?:to|"
        rf"in|into|is|:)\s+(?:(?i:the)\s+)?(?P<country>{_COUNTRY})\b",
        rf"(?i:I(?:'m| am| live| am living| am based|"
        rf"'m based))\s+in\s+(?:(?i:the)\s+)?(?P<country>{_COUNTRY})\b",
    )
)


@dataclass(frozen=True)
class ShippingMention:
    """A country named as a destination: its code, the user's word for it, and where the phrase stands."""

    code: str
    name: str
    span: tuple[int, int]


def country_code(text: str) -> str | None:
    """ISO 3166 code of the first country named in a text."""
    found = _ANY_COUNTRY.search(text)
    return _CODES[found.group().casefold()] if found else None


@lru_cache(maxsize=512)
def shipping_mentions(text: str) -> tuple[ShippingMention, ...]:
    """Every destination in a text, in order. A country alone is none: 日本的茶 says where a thing is from."""
    mentions = [
        ShippingMention(_CODES[found["country"].casefold()], found["country"], found.span())
        for pattern in _SHIPPING
        for found in pattern.finditer(text)
    ]
    return tuple(sorted(mentions, key=lambda mention: mention.span))
