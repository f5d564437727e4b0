"""What people avoid in food and things: how it is named in Chinese and English, and the words that exclude it.

Exclusion words are matched inside product texts, so each list names the kinds of the thing in both languages.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Substance:
    slug: str
    names: tuple[str, ...]
    """How a user names it."""
    words: tuple[str, ...]
    """What to exclude in a search."""
    food: bool = True


@dataclass(frozen=True)
class SubstanceMention:
    substance: Substance
    name: str
    start: int
    end: int


def _food(slug: str, names: str, words: str) -> Substance:
    return Substance(slug, tuple(names.split("|")), tuple(words.split("|")))


def _material(slug: str, names: str, words: str) -> Substance:
    return Substance(slug, tuple(names.split("|")), tuple(words.split("|")), food=False)


_NUT_WORDS = (
    "坚果|nut|花生|peanut|杏仁|almond|腰果|cashew|核桃|walnut|开心果|pistachio|榛子|榛果|hazelnut|"
    "碧根果|pecan|夏威夷果|macadamia|巴旦木|松子"
)
_MEAT_WORDS = (
    "牛肉|beef|猪肉|pork|鸡肉|chicken|羊肉|lamb|肉干|肉脯|jerky|火腿|ham|香肠|sausage|鱼|fish|虾|shrimp|明胶|gelatin"
)

SUBSTANCES = (
    _food("nut", "坚果|树坚果|tree nut|nut", _NUT_WORDS),
    _food("peanut", "花生|peanut", "花生|peanut"),
    _food("almond", "杏仁|巴旦木|almond", "杏仁|巴旦木|almond"),
    _food("cashew", "腰果|cashew", "腰果|cashew"),
    _food("walnut", "核桃|walnut", "核桃|walnut"),
    _food("pistachio", "开心果|pistachio", "开心果|pistachio"),
    _food("hazelnut", "榛子|榛果|hazelnut", "榛子|榛果|hazelnut"),
    _food(
        "milk",
        "牛奶|奶制品|乳制品|奶类|乳糖|dairy|milk|lactose",
        "牛奶|奶粉|奶酪|芝士|乳清|乳糖|milk|dairy|cheese|whey|lactose",
    ),
    _food("gluten", "麸质|麦麸|小麦|面筋|gluten|wheat", "麸质|小麦|gluten|wheat"),
    _food("egg", "鸡蛋|蛋类|egg", "鸡蛋|蛋黄|蛋白|egg"),
    _food("soy", "大豆|黄豆|豆制品|soya|soy|soybean", "大豆|黄豆|soy"),
    _food(
        "seafood",
        "海鲜|甲壳类|贝类|虾蟹|seafood|shellfish|crustacean",
        "海鲜|虾|蟹|贝|鱿鱼|shrimp|crab|shellfish|seafood|squid|fish",
    ),
    _food("shrimp", "虾|shrimp|prawn", "虾|shrimp|prawn"),
    _food("fish", "鱼|fish", "鱼|fish"),
    _food("sesame", "芝麻|sesame", "芝麻|sesame"),
    _food("mango", "芒果|mango|mangoes", "芒果|mango"),
    _food("peach", "桃子|桃|peach", "桃|peach"),
    _food("coconut", "椰子|椰|coconut", "椰|coconut"),
    _food("chocolate", "巧克力|可可|chocolate|cocoa", "巧克力|可可|chocolate|cocoa"),
    _food("coriander", "香菜|芫荽|coriander|cilantro", "香菜|coriander|cilantro"),
    _food("pork", "猪肉|pork", "猪肉|火腿|培根|pork|bacon|ham"),
    _food("beef", "牛肉|beef", "牛肉|beef"),
    _food("meat", "肉|荤|meat", _MEAT_WORDS),
    _food("caffeine", "咖啡因|caffeine", "咖啡|caffeine|coffee"),
    _food("alcohol", "酒精|酒|alcohol", "酒精|酒|alcohol|wine"),
    _food("spicy", "辣|spicy|chili", "辣|spicy|chili"),
    _material(
        "plastic",
        "塑料|塑胶|plastic",
        "塑料|塑胶|plastic|聚丙烯|polypropylene|聚乙烯|polyethylene|亚克力|acrylic|PVC|ABS",
    ),
    _material("leather", "真皮|皮革|皮质|牛皮|羊皮|leather", "真皮|皮革|牛皮|羊皮|leather"),
    _material("wool", "羊毛|羊绒|毛料|wool|cashmere", "羊毛|羊绒|wool|cashmere"),
    _material("fur", "皮草|动物毛皮|fur", "皮草|毛皮|real fur|fox fur|rabbit fur"),
    _material(
        "down", "羽绒|羽毛|鸭绒|鹅绒|goose down|duck down|feather", "羽绒|羽毛|鸭绒|鹅绒|goose down|duck down|feather"
    ),
    _material("nickel", "镍|nickel", "镍|nickel"),
    _material("latex", "乳胶|latex", "乳胶|latex"),
    _material("polyester", "聚酯|涤纶|化纤|polyester", "聚酯|涤纶|polyester"),
    _material("nylon", "尼龙|锦纶|nylon", "尼龙|锦纶|nylon"),
    _material("silk", "真丝|丝绸|蚕丝|silk", "真丝|丝绸|蚕丝|silk"),
    _material("fragrance", "香精|香料|香味|fragrance|perfume|scent", "香精|香料|fragrance|parfum|perfume"),
    _material("glass", "玻璃|glass", "玻璃|glass"),
    _material("stainless_steel", "不锈钢|stainless steel", "不锈钢|stainless steel"),
)

DIETS = (
    _food("vegan", "纯素|全素|vegan", f"{_MEAT_WORDS}|牛奶|奶粉|milk|whey|鸡蛋|egg|蜂蜜|honey"),
    _food("vegetarian", "素食|吃素|vegetarian", _MEAT_WORDS),
    _food("halal", "清真|halal", "猪肉|火腿|培根|pork|bacon|ham|酒精|alcohol|wine"),
    _food("kosher", "犹太洁食|kosher", "猪肉|火腿|培根|pork|bacon|ham|虾|蟹|shrimp|crab|shellfish"),
)


class _Lexicon:
    """Finds the names of substances, the longest first. Two patterns, so that each can skip ahead quickly."""

    def __init__(self, substances: tuple[Substance, ...]) -> None:
        self._by_name = {name.casefold(): substance for substance in substances for name in substance.names}
        longest_first = sorted(self._by_name, key=lambda name: (-len(name), name))
        english = [re.escape(name) for name in longest_first if name.isascii()]
        chinese = [re.escape(name) for name in longest_first if not name.isascii()]
        self._english = re.compile(rf"\b({'|'.join(english)})(?:s|es)?\b", re.IGNORECASE)
        self._chinese = re.compile(f"({'|'.join(chinese)})")

    def mentions_in(self, text: str) -> list[SubstanceMention]:
        found = [*self._english.finditer(text), *self._chinese.finditer(text)]
        mentions = (
            SubstanceMention(self._by_name[match[1].casefold()], match[0], match.start(), match.end())
            for match in found
        )
        return sorted(mentions, key=lambda mention: mention.start)


_SUBSTANCES = _Lexicon(SUBSTANCES)
_DIETS = _Lexicon(DIETS)


def substances_in(text: str) -> list[SubstanceMention]:
    return _SUBSTANCES.mentions_in(text)


def diets_in(text: str) -> list[SubstanceMention]:
    return _DIETS.mentions_in(text)
