"""Words that exclude each other, so that two lines which differ in nothing else contradict each other."""

import re

# Groups by ";", sides of a group by "/", words of a side by spaces.
_OPPOSITES = """
宽松 / 修身 紧身 贴身; 长袖 / 短袖; 长款 / 短款; 大码 / 小码; 大号 / 小号; 加厚 厚 / 薄; 热 / 冰 冷 凉; 软 / 硬
深色 / 浅色 亮色; 高跟 / 平底 低跟; 高帮 / 低帮; 高领 / 低领 圆领; 含糖 有糖 加糖 全糖 / 无糖 不加糖 零糖
含香 有香 香型 / 无香; 含酒精 / 无酒精; 有线 / 无线; 浓 / 淡; 油性 油皮 / 干性 干皮; 左 / 右
早上 上午 白天 / 晚上 夜里 下午; 全新 新品 / 二手 旧; 便宜 平价 / 昂贵 贵 高端; 简约 简单 素净 / 华丽 花哨 复杂
室内 / 室外 户外; 男款 男士 / 女款 女士; 休闲 / 正式 商务; 纯色 素色 / 花色 印花; 纸质 / 电子
靠窗 / 靠过道 过道; 哑光 / 亮面 高光; 手动 / 自动; 甜 / 咸 苦 酸; 辣 / 清淡; 公制 / 英制; 干 / 湿; 细 / 粗
轻 / 重; 快 / 慢; 单人 / 双人; 国产 / 进口; 冬 / 夏; 黑咖啡 / 奶咖
loose baggy relaxed / tight slim fitted skinny; long / short; thick / thin; hot warm / iced cold cool
soft / hard firm; light / dark heavy; large big / small; wide / narrow; high / low; oily / dry
sweet / savou?ry bitter salty; morning / evening night; left / right; wired / wireless
caffeinated / decaf decaffeinated; scented perfumed / unscented fragrance-free
sweetened / unsweetened sugar-free; matte / glossy shiny; early / late; cheap budget / expensive luxury premium
new / used second-hand refurbished; indoor / outdoor; casual / formal; plain / patterned; window / aisle
paper paperback printed / e-book ebook digital electronic; metric / imperial; manual / automatic; spicy / mild
single / double; fast / slow; smooth / crunchy; full-fat whole / skimmed low-fat
simple minimalist / ornate flashy; male men's / female women's; flat / heeled; gold / silver
xxs / xs / s / m / l / xl / xxl / xxxl
"""

_GROUPS = [group.split("/") for line in _OPPOSITES.split("\n") for group in line.split(";") if group.strip()]
_SIDES: tuple[tuple[str, int, "re.Pattern[str]"], ...] = tuple(
    (f"<{group}>", side, re.compile(rf"(?<![a-z])(?:{'|'.join(words.split())})(?![a-z])"))
    for group, sides in enumerate(_GROUPS)
    for side, words in enumerate(sides)
)
_LISTED = [words.split() for group in _GROUPS for words in group]
_SIDES_BY_SIGN: dict[str, set[int]] = {
    sign: {position for position, words in enumerate(_LISTED) if sign in {word[0] for word in words}}
    for sign in {word[0] for words in _LISTED for word in words}
}
"""By the sign with which a word begins, the sides that have such a word: most texts hold the beginnings of few."""

Sides = frozenset[tuple[str, int]]


def masked(text: str) -> tuple[str, Sides]:
    """A folded text with every such word replaced by the name of its group, and which sides it took."""
    taken: set[tuple[str, int]] = set()
    for position in sorted({position for sign in set(text) for position in _SIDES_BY_SIGN.get(sign, ())}):
        name, side, words = _SIDES[position]
        text, replaced = words.subn(f" {name} ", text)
        if replaced:
            taken.add((name, side))
    return text, frozenset(taken)
