"""What belongs into a set: the things a user lists, or those that such a set usually has."""

import re
from collections.abc import Iterator

from offline_model.language.languages import is_chinese

_MOST = 4
_LISTED = re.compile(
    r"(?:：|:|包括|包含|要有|里面有|\bwith\b|\bincluding\b)\s*(?P<list>[^。.!！?？\n]+)", re.IGNORECASE
)
_ENUMERATED = re.compile(
    r"(?P<zh>(?:[一-龥A-Za-z0-9]{1,8}、)+[一-龥A-Za-z0-9]{1,8})|"
    r"(?P<en>(?:[a-z-]+(?: [a-z-]+)?, )+[a-z-]+(?: [a-z-]+)? and [a-z-]+(?: [a-z-]+)?)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:、|，|,|和|以及|还有|\band\b)\s*", re.IGNORECASE)
_COUNTED = re.compile(r"^(?:[一两二三四五]|\d|an?|some)(?:个|条|只|款|件|副)?\s*", re.IGNORECASE)
_CONDITION = re.compile(r"\d|预算|以内|寄|一共|总共|budget|under|ship", re.IGNORECASE)
_USUAL = (
    (
        re.compile(r"露营|camping", re.IGNORECASE),
        "帐篷 睡袋 头灯 折叠水壶",
        "tent, sleeping bag, headlamp, folding bottle",
    ),
    (
        re.compile(r"办公|office", re.IGNORECASE),
        "鼠标垫 桌面收纳 笔记本支架 便利贴",
        "mouse pad, desk organiser, laptop stand, sticky notes",
    ),
    (re.compile(r"护肤|skincare", re.IGNORECASE), "洁面乳 精华 面霜 防晒", "cleanser, serum, face cream, sunscreen"),
    (re.compile(r"下午茶|tea", re.IGNORECASE), "红茶 茶具 饼干 蜂蜜", "black tea, tea set, biscuits, honey"),
    (
        re.compile(r"宝宝|新生儿|待产|\bbaby\b|newborn", re.IGNORECASE),
        "奶瓶 婴儿背带 围兜 婴儿毯",
        "baby bottle, baby carrier, bib, baby blanket",
    ),
    (
        re.compile(r"咖啡|coffee", re.IGNORECASE),
        "咖啡豆 手冲壶 滤杯 咖啡杯",
        "coffee beans, kettle, dripper, coffee cup",
    ),
    (
        re.compile(r"徒步|登山|hiking", re.IGNORECASE),
        "徒步鞋 冲锋衣 登山包 水壶",
        "hiking shoes, rain jacket, backpack, bottle",
    ),
    (
        re.compile(r"狗|猫|宠物|puppy|kitten|\bdog|\bcat\b|\bpet", re.IGNORECASE),
        "宠物窝 宠物碗 牵引绳 宠物玩具",
        "pet bed, pet bowl, leash, pet toy",
    ),
    (re.compile(r"野餐|picnic", re.IGNORECASE), "野餐垫 保温包 餐具 水杯", "picnic blanket, cooler bag, cutlery, cup"),
    (
        re.compile(r"厨房|kitchen", re.IGNORECASE),
        "平底锅 菜刀 砧板 餐具",
        "frying pan, kitchen knife, cutting board, cutlery",
    ),
    (re.compile(r"骑行|cycling", re.IGNORECASE), "骑行头盔 车锁 车前灯 打气筒", "helmet, bike lock, front light, pump"),
    (re.compile(""), "眼罩 收纳袋 洗漱包 转换插头", "sleep mask, packing cubes, toiletry bag, travel adapter"),
)
"""The last fits everything: sets are asked for when people travel."""


def parts_of_set(words: str) -> list[str]:
    """What to search for, at most four things, at least two."""
    listed, enumerated = _LISTED.search(words), _ENUMERATED.search(words)
    for text in (listed["list"] if listed else "", enumerated.group() if enumerated else ""):
        named = list(_parts(text))
        if len(named) >= 2:
            return named[:_MOST]
    chinese, english = next((zh, en) for pattern, zh, en in _USUAL if pattern.search(words))
    return (chinese.split() if is_chinese(words) else english.split(", "))[:_MOST]


def _parts(text: str) -> Iterator[str]:
    for part in _BETWEEN.split(text):
        name = _COUNTED.sub("", part.strip())
        if 0 < len(name) <= 20 and not _CONDITION.search(name):
            yield name
