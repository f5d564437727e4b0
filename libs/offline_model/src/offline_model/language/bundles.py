"""What belongs into a set: the things a user lists, or those that such a set usually has."""

import re

from offline_model.language.languages import is_chinese

_MOST = 4
_LISTED = re.compile(
    r"(?:：|:|包括|包含|要有|里面有|\bwith\b|\bincluding\b)\s*(?P<list>[^。.!！?？\n]+)", re.IGNORECASE
)
_BETWEEN = re.compile(r"\s*(?:、|，|,|和|以及|还有|\band\b)\s*", re.IGNORECASE)
_COUNTED = re.compile(r"^(?:[一两二三四五]|\d|an?|some)(?:个|条|只|款|件|副)?\s*", re.IGNORECASE)
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
    (re.compile(r"骑行|cycling", re.IGNORECASE), "骑行头盔 车锁 车前灯 打气筒", "helmet, bike lock, front light, pump"),
    (re.compile(""), "眼罩 收纳袋 洗漱包 转换插头", "sleep mask, packing cubes, toiletry bag, travel adapter"),
)
"""The last fits everything: sets are asked for when people travel."""


def parts_of_set(words: str) -> list[str]:
    """What to search for, at most four things, at least two."""
    listed = _LISTED.search(words)
    if listed:
        parts = [_COUNTED.sub("", part.strip()) for part in _BETWEEN.split(listed["list"])]
        named = [
            part for part in parts if 1 < len(part) <= 20 and not re.search(r"\d|预算|以内|寄|budget|under|ship", part)
        ]
        if len(named) >= 2:
            return named[:_MOST]
    chinese, english = next((zh, en) for pattern, zh, en in _USUAL if pattern.search(words))
    return (chinese.split() if is_chinese(words) else english.split(", "))[:_MOST]
