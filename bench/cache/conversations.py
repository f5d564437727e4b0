"""What the users say. Nothing here is random, so every run sends the same words."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice


@dataclass(frozen=True)
class Session:
    user: str
    turns: tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    name: str
    words: str
    sessions: tuple[Session, ...]


_RECALL = '[[offline:call=recall_memories|{"topic":"旅行"}]]'
"""Has the model look into the long-term memory first: one more call of a turn that reads no skill, as in the seeds."""

_LONG20 = (
    "想找一个通勤双肩包、一个电脑包和一个腰包，500 元以内，多看几款，列 20 款",
    f"请记住：我喜欢黑色。找一个防水双肩包、一个轻便双肩包和一个手提包，仔细找一下，列 20 款 {_RECALL}",
    "找一个商务双肩包、一个电脑双肩包和一个旅行双肩包，对比一下，哪个更适合天天背，列 20 款",
    f"请记住：我不要真皮的东西。找一个学生双肩包、一个钱包和一个单肩包，300 元以内，多看几款，列 20 款 {_RECALL}",
    f"再找一个旅行颈枕、一个眼罩和一个耳塞，长途飞机上用，多看几款，列 20 款 {_RECALL}",
    f"请记住：我坐飞机喜欢靠窗。找一个记忆棉颈枕、一个充气颈枕和一个抱枕，对比一下，列 20 款 {_RECALL}",
    f"找一个可以拆洗的颈枕、一条毯子和一个靠垫，200 元以内，多看几款，列 20 款 {_RECALL}",
    f"请记住：我的行李箱是 28 寸的。再找一条行李绑带、一个行李牌和一个密码锁，多看几款，列 20 款 {_RECALL}",
    f"找一个行李箱和一个行李绑带，对比一下，哪款更好认，列 12 款 {_RECALL}",
    "请记住：东西都寄德国。下个月出差，帮我配一套旅行装备：收纳袋、洗漱包、转换插头、颈枕，总共 800 元以内，列 12 款",
    f"请记住：我对羊毛过敏。找一个防水洗漱包和一个旅行分装瓶，多看几款，列 12 款 {_RECALL}",
    f"找一个转换插头和一个充电器，对比一下，德国和英国都能用的，列 12 款 {_RECALL}",
    f"请记住：我只带登机箱出差。找一个大号收纳袋和一个衣物压缩袋，仔细找一下，列 12 款 {_RECALL}",
    f"再找一个降噪耳机和一个耳机收纳盒，1000 元以内，多看几款，列 12 款 {_RECALL}",
    f"请记住：我戴眼镜。找一个头戴式降噪耳机和一个入耳式降噪耳机，对比一下，列 12 款 {_RECALL}",
    f"找一个续航长的降噪耳机和一个运动耳机，多看几款，列 12 款 {_RECALL}",
    f"请记住：我喜欢无线的。找一个便宜的降噪耳机和一个蓝牙耳机，500 元以内，多看几款，列 12 款 {_RECALL}",
    f"降噪耳机对比一下，能寄到德国的，哪款更值得，列 12 款 {_RECALL}",
    f"请记住：我喜欢小众品牌。再找一个黑色的双肩包，多看几款，列 12 款 {_RECALL}",
    "最后总结一下吧",
)

_BAD = (
    "请记住：我对坚果过敏。找几样办公室零食，送礼用",
    "请记住：我不吃辣。再找些零食 [[offline:bad_tool]]",
    "请记住：我对乳糖不耐受。找一盒饼干，送礼用",
    "请记住：东西都寄法国。找一个保温杯 [[offline:malformed_arguments*1]]",
    "请记住：我喜欢极简风格。找一条围巾，送礼用",
    "请记住：我不要真皮的东西。找一个钱包 [[offline:bad_tool]]",
    "请记住：我的鞋码是 42 码。找一双跑鞋，送礼用",
    "请记住：我不要塑料的东西。找一个收纳盒 [[offline:malformed_arguments*1]]",
    "请记住：我对羊毛过敏。找一条毯子，送礼用",
    "请记住：我不吃香菜。找一个平底锅 [[offline:bad_tool]]",
    "请记住：我对海鲜过敏。再找些零食，送礼用",
    "请记住：东西改寄德国。找一个充电器 [[offline:malformed_arguments*1]]",
)

_THINGS = (
    *("双肩包", "雨伞", "保温杯", "耳机", "键盘", "台灯", "围巾", "手表", "帐篷", "茶具"),
    *("毛巾", "钱包", "行李箱", "充电宝", "零食", "笔记本", "香薰", "枕头", "拖鞋", "咖啡"),
    *("猫粮", "婴儿背带", "瑜伽垫", "平底锅", "面霜", "项链", "跑鞋", "衬衫", "连衣裙", "积木"),
)
_KINDS = (
    *("轻便", "防水", "大号", "小号", "便宜", "高档", "复古", "简约", "耐用", "可爱"),
    *("旅行", "商务", "运动", "户外", "便携", "家用"),
)
_FOLLOWING = (
    "便宜一点的有吗，{price} 元以内",
    "前两款对比一下，{kind}的优先",
    "换成{kind}的再看看",
    "能寄到德国吗，{price} 元左右的",
)


def _wishes() -> Iterator[tuple[str, str]]:
    """Pairs of a kind and a thing that do not come twice."""
    for shift in range(len(_KINDS)):
        for number, thing in enumerate(_THINGS):
            yield _KINDS[(number + shift) % len(_KINDS)], thing


def _short_sessions(count: int) -> Iterator[Session]:
    following = cycle(_FOLLOWING)
    for number, (kind, thing) in enumerate(islice(_wishes(), count)):
        later = [
            text.format(price=100 + 7 * number, kind=_KINDS[(number + 5) % len(_KINDS)])
            for text in islice(following, number % 3)
        ]
        yield Session(f"short-{number}", (f"想找一个{kind}的{thing}，{300 + number} 元以内", *later))


def _long_session() -> Iterator[str]:
    following = cycle(_FOLLOWING)
    for number, (kind, thing) in enumerate(_wishes()):
        yield f"想找一个{kind}的{thing}，{200 + number} 元以内，列 12 款"
        for text in islice(following, 2):
            yield text.format(price=150 + number, kind=_KINDS[(number + 3) % len(_KINDS)])


SCENARIOS = (
    Scenario("long100", "100 turns with compaction", (Session("long100", tuple(islice(_long_session(), 100))),)),
    Scenario("long20", "20 turns across five kinds of things, as in the seeds", (Session("long20", _LONG20),)),
    Scenario("bad", "corrections, new memory every turn, a strategy every other turn", (Session("bad", _BAD),)),
    Scenario("short", "200 sessions of one to three turns, each of another user", tuple(_short_sessions(200))),
)
"""In the order in which they are played: what is long to judge comes first, what is long to play comes last."""
