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


_LONG20 = (
    "想找一个通勤双肩包，500 元以内，能放下 15 寸的电脑",
    "要轻一点、防水的，再看看",
    "前面两款双肩包对比一下，哪个更适合天天背",
    "有没有更便宜的双肩包，200 元左右",
    "再找一个旅行颈枕，长途飞机上用",
    "记忆棉颈枕和充气颈枕对比一下",
    "颈枕要能拆洗的，100 元以内",
    "再找行李绑带，带密码锁的",
    "绑带要亮色，好认行李，对比两款",
    "下个月去德国出差，帮我配一套旅行装备：收纳袋、洗漱包、转换插头，总共 600 元以内",
    "洗漱包换成防水的再看看",
    "转换插头要德国和英国都能用的，对比一下",
    "这一套里收纳袋有没有更大的",
    "再找一副降噪耳机，1000 元以内",
    "头戴式和入耳式降噪耳机对比一下",
    "续航 30 小时以上的降噪耳机有吗",
    "降噪耳机便宜一点的，500 元以内",
    "寄到德国的话，降噪耳机哪款合适",
    "请记住：东西都寄德国。双肩包再看一眼黑色的",
    "最后总结一下，这次一共选了哪些东西",
)

_BAD = (
    "请记住：我对坚果过敏。推荐几样办公室零食，送礼用",
    "请记住：我不吃辣。零食再看看 [[offline:bad_tool]]",
    "请记住：我对乳糖不耐受。再找点下午茶点心，送礼用",
    "请记住：东西都寄法国。找一个保温杯 [[offline:malformed_arguments*1]]",
    "请记住：我喜欢极简风格。想给妈妈找一条围巾，送礼用",
    "请记住：我不要真皮的东西。找一个钱包 [[offline:bad_tool]]",
    "请记住：我的鞋码是 42 码。找一双跑鞋，送礼用",
    "请记住：我只用欧标插头。找一个充电器 [[offline:malformed_arguments*1]]",
    "请记住：我对羊毛过敏。找一条毯子，送礼用",
    "请记住：我不喝咖啡。找一套茶具 [[offline:bad_tool]]",
    "请记住：我家有一只猫。找一个猫抓板，送礼用",
    "请记住：我喜欢深蓝色。找一个行李箱 [[offline:malformed_arguments*1]]",
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
        yield f"想找一个{kind}的{thing}，{200 + number} 元以内"
        for text in islice(following, 2):
            yield text.format(price=150 + number, kind=_KINDS[(number + 3) % len(_KINDS)])


SCENARIOS = (
    Scenario("long20", "20 turns across five kinds of things, as in the seeds", (Session("long20", _LONG20),)),
    Scenario("short", "200 sessions of one to three turns, each of another user", tuple(_short_sessions(200))),
    Scenario("bad", "corrections, new memory every turn, a strategy every other turn", (Session("bad", _BAD),)),
    Scenario("long100", "100 turns with compaction", (Session("long100", tuple(islice(_long_session(), 100))),)),
)
