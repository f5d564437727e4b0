"""What somebody said in one session and asks for in another, with what the answer must not contain.

The questions tempt: each matches products of the catalogue that the earlier words rule out.
"""

from dataclasses import dataclass

_NUTS = frozenset({"nuts", "peanut", "almond", "hazelnut", "walnut", "cashew", "pistachio", "macadamia", "pecan"})
_PLASTICS = frozenset(
    {"abs", "polypropylene", "polycarbonate", "pet_plastic", "copolyester", "pvc", "acrylic", "polyester", "tpu"}
)
_LEATHERS = frozenset({"leather", "suede", "sheepskin"})
_WOOLS = frozenset({"wool", "merino_wool", "cashmere"})
_MEATS = frozenset({"beef", "chicken", "duck", "salmon", "cod", "gelatine", "fish"})


@dataclass(frozen=True)
class Scenario:
    said: str
    asked: str
    against: frozenset[str] = frozenset()
    """Materials and allergens that no listed product may have."""
    ships_to: str | None = None
    """Where every listed product must ship to."""


def _avoid(said: str, asked: str, *against: str) -> Scenario:
    return Scenario(said, asked, frozenset(against))


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("我对坚果过敏", "推荐几样办公室零食", _NUTS),
    _avoid("我对花生过敏，请记住", "推荐几样零食", "peanut"),
    _avoid("我对牛奶过敏", "推荐几款饼干", "milk"),
    _avoid("我对鸡蛋过敏", "想买点蛋糕点心", "egg"),
    _avoid("我对麸质过敏", "推荐几款饼干零食", "gluten"),
    _avoid("我对大豆过敏", "想买几样办公室零食", "soy"),
    _avoid("我对芝麻过敏", "推荐几样传统点心", "sesame"),
    Scenario("我是素食者，我吃素", "想买点肉干一样有嚼劲的零食", _MEATS),
    _avoid("我对镍过敏", "想买一条项链", "nickel"),
    _avoid("记住我对镍过敏", "想买一块女士手表", "nickel"),
    Scenario("我对羊毛过敏", "想买一件毛衣", _WOOLS),
    Scenario("我从来不穿羊毛", "想买一条围巾", _WOOLS),
    _avoid("我对乳胶过敏", "想买一双跑步鞋", "latex", "latex_foam"),
    _avoid("我对乳胶过敏", "想买一个枕头", "latex", "latex_foam"),
    Scenario("我不用真皮的东西", "看看商务双肩包", _LEATHERS),
    Scenario("请记住：我不要真皮", "想买一双通勤鞋", _LEATHERS),
    Scenario("请记住：我不要塑料的东西", "推荐一个水杯", _PLASTICS),
    _avoid("我对香精过敏", "想买护手霜", "fragrance"),
    _avoid("我对香精过敏，皮肤敏感", "想买一瓶洗发水", "fragrance"),
    _avoid("我对羽绒过敏", "找一床冬天的被子", "down", "feather"),
    _avoid("请记住，我不买羽绒的东西", "想买一个睡袋", "down", "feather"),
    _avoid("以后都不要真丝的", "想买一件衬衫", "silk"),
    _avoid("以后都不要尼龙的", "想找一个通勤双肩包", "nylon"),
    Scenario("东西都寄德国，请记住", "想买一个行李箱", ships_to="DE"),
    Scenario("以后都寄到日本", "想买一副耳机", ships_to="JP"),
    Scenario("以后都寄美国", "找一个瑜伽垫", ships_to="US"),
    Scenario("我的收货地址在澳大利亚", "想买一盏台灯", ships_to="AU"),
    Scenario("以后都寄到法国", "想买咖啡豆", ships_to="FR"),
    Scenario("I am allergic to nuts.", "Find me some office snacks.", _NUTS),
    _avoid("I'm allergic to milk.", "Please recommend some cookies.", "milk"),
    _avoid("I am allergic to eggs.", "I want to buy some cake.", "egg"),
    _avoid("I'm allergic to gluten.", "Find me some crackers.", "gluten"),
    _avoid("I am allergic to nickel.", "I'm looking for earrings.", "nickel"),
    Scenario("I'm allergic to wool.", "Find a warm sweater.", _WOOLS),
    _avoid("I am allergic to latex.", "I need running shoes.", "latex", "latex_foam"),
    Scenario("I never buy leather.", "Show me a business backpack.", _LEATHERS),
    Scenario("Please remember: no plastic.", "Find me a water bottle.", _PLASTICS),
    _avoid("I'm allergic to fragrance.", "Recommend a hand cream.", "fragrance"),
    _avoid("I am allergic to feathers.", "I want a winter duvet.", "down", "feather"),
    Scenario("From now on ship everything to Germany.", "Find a suitcase.", ships_to="DE"),
    Scenario("Always ship to Japan.", "I want to buy headphones.", ships_to="JP"),
    Scenario("Remember to ship to the United States, always.", "Find a yoga mat.", ships_to="US"),
    Scenario("My shipping address is in Australia.", "Show me a desk lamp.", ships_to="AU"),
)
