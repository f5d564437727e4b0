"""Words of the shop: orders, places in a list, quantities, kinds of turns, names of products."""

import pytest

from offline_model.language.bundles import parts_of_set
from offline_model.language.intents import Intent, intent_of
from offline_model.language.named_products import names_one_product
from offline_model.language.orders import OrderWish, order_wish
from offline_model.language.references import places_in, quantity_in
from offline_model.language.wishes import changed_kind, wishes_in


@pytest.mark.parametrize(
    ("words", "wish"),
    [
        ("下单第一个", OrderWish.PLACE),
        ("帮我下单", OrderWish.PLACE),
        ("order the first one", OrderWish.PLACE),
        ("buy it", OrderWish.PLACE),
        ("再买一次第二个", OrderWish.PLACE),
        ("先别下单", None),
        ("不要下单", None),
        ("I don't want to order the first one yet", None),
        ("I need a bag in order to travel light", None),
        ("find me a running track suit", None),
        ("找一个有两年保修的吹风机", None),
        ("我的订单", OrderWish.LOOK_UP),
        ("where is my package", OrderWish.LOOK_UP),
        ("What did I order?", OrderWish.LOOK_UP),
        ("what have I bought so far", OrderWish.LOOK_UP),
        ("帮我确认下单", OrderWish.SETTLE),
        ("取消我的订单", OrderWish.SETTLE),
        ("confirm my order", OrderWish.SETTLE),
        ("收到的杯子碎了", OrderWish.RETURN),
        ("怎么退货", OrderWish.RETURN),
    ],
)
def test_what_is_wanted_of_orders(words: str, wish: OrderWish | None) -> None:
    assert order_wish(words) is wish


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("第二个", [1]),
        ("第三款和第一款", [2, 0]),
        ("前两款", [0, 1]),
        ("the fourth one", [3]),
        ("option 2", [1]),
        ("第一次买", []),
        ("a first aid kit", []),
    ],
)
def test_places_in_a_list(words: str, places: list[int]) -> None:
    assert places_in(words) == places


@pytest.mark.parametrize(
    ("words", "quantity"),
    [
        ("下单第一个，要两件", 2),
        ("三盒", 3),
        ("two of the first", 2),
        ("quantity 12", 12),
        ("第二个", None),
        ("前两个都要", None),
        ("下单", None),
    ],
)
def test_quantities(words: str, quantity: int | None) -> None:
    assert quantity_in(words) == quantity


@pytest.mark.parametrize(
    ("words", "intent"),
    [
        ("找一个相框放照片", Intent.PRODUCT_SEARCH),
        ("买一张世界地图", Intent.PRODUCT_SEARCH),
        ("looking for a photo album", Intent.PRODUCT_SEARCH),
        ("推荐几样能带上飞机的零食", Intent.PRODUCT_SEARCH),
        ("想找双肩包，还是要黑色的", Intent.PRODUCT_SEARCH),
        ("能寄到德国吗，150 元左右的", Intent.PRODUCT_SEARCH),
        ("双肩包还是斜挎包好", Intent.PURCHASE_RESEARCH),
        ("should I get a kettle or a dripper", Intent.PURCHASE_RESEARCH),
        ("帐篷、睡袋、炉子一共不超过 3000", Intent.BUNDLE),
        ("set up a home office for under 500 euros", Intent.BUNDLE),
        ("看图里的台灯", Intent.IMAGE_SEARCH),
        ("寄到英国一共多少钱", Intent.LANDED_PRICE),
        ("what would it cost me in total to Spain", Intent.LANDED_PRICE),
        ("耳机没声音了", Intent.DEVICE_FAULT),
        ("以后别再推荐皮的", Intent.MEMORY),
        ("forget my size", Intent.MEMORY),
        ("Please remember that I wear EU size 42 shoes", Intent.MEMORY),
        ("谢谢，先不买了", Intent.CHAT),
    ],
)
def test_kinds_of_turns(words: str, intent: Intent) -> None:
    assert intent_of(words, wishes_in(words)) is intent


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("找一下戴森 V12 吸尘器", True),
        ("do you have the Fairphone 5", True),
        ("找拼图 75192", True),
        ("找一个 2000 毫升的水壶", False),
        ("想要 1200 元左右的项链", False),
        ("find me Japanese tea", False),
        ("找一个 20 寸登机箱", False),
    ],
)
def test_names_of_products(words: str, named: bool) -> None:
    assert names_one_product(words, wishes_in(words)) is named


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("旅行套装：眼罩和洗漱包", ["眼罩", "洗漱包"]),
        ("鞋、外套、背包，一共 1200", ["鞋", "外套", "背包"]),
        ("a kit with tent, lamp and stove, under $90", ["tent", "lamp", "stove"]),
        ("kettle, grinder and cups, 200 in total", ["kettle", "grinder", "cups"]),
        ("配一套野餐的", ["野餐垫", "保温包", "餐具", "水杯"]),
    ],
)
def test_parts_of_a_set(words: str, parts: list[str]) -> None:
    assert parts_of_set(words) == parts


@pytest.mark.parametrize(
    ("words", "kind"), [("换成防水的再看看", "防水"), ("show me a blue one", "blue"), ("换成双肩包", None)]
)
def test_the_same_thing_of_another_kind(words: str, kind: str | None) -> None:
    assert changed_kind(words) == kind


@pytest.mark.parametrize("words", ["要买「轻行」双肩包", "find the “Nordic Loop” lamp"])
def test_a_name_in_quotation_marks_is_part_of_the_query(words: str) -> None:
    (query,) = wishes_in(words).queries
    assert query in ("轻行双肩包", "Nordic Loop lamp")
