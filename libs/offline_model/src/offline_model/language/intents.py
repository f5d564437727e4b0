"""What kind of turn it is: the closed list that the planner's plan names."""

import re
from enum import StrEnum
from functools import lru_cache

from offline_model.language.choices import asks_for_recap, chosen_position
from offline_model.language.orders import OrderWish, order_wish
from offline_model.language.statements import statements_in
from offline_model.language.wishes import Wishes


class Intent(StrEnum):
    PRODUCT_SEARCH = "product_search"
    PURCHASE_RESEARCH = "purchase_research"
    BUNDLE = "bundle"
    ORDER_CARE = "order_care"
    MEMORY = "memory"
    IMAGE_SEARCH = "image_search"
    LANDED_PRICE = "landed_price"
    DEVICE_FAULT = "device_fault"
    ACCESSORY = "accessory"
    USAGE_QUESTION = "usage_question"
    CHAT = "chat"


def _pattern(chinese: str, english: str) -> "re.Pattern[str]":
    return re.compile(rf"{chinese}|\b(?:{english})\b", re.IGNORECASE)


_LANDED = _pattern(
    "关税|到手(?:价|要|多少|一共|总)|清关|税费|进口税|增值税|含税|运费|"
    "寄(?:到|去|往)[^，。]{2,8}(?:一共|总共|全部)(?:要|得|下来)?(?:多少|几)|"
    "(?:能不能|可不可以|能否)(?:直接)?(?:寄|发|送|运)(?:到|去|往)|^[^，。]{0,8}能(?:寄|发|送)(?:到|去|往)[^，。]{2,8}吗[？?]?$",
    r"customs|import (?:tax|duty|duties)|duty|duties|landed (?:price|cost)|vat|shipping (?:cost|fee)s?|delivered price|"
    r"(?:in )?total (?:cost|price)? ?(?:delivered|shipped) to|all in(?:cluded)? (?:to|in)|can (?:you|it|this|"
    r"that) (?:be )?ship(?:ped)? to",
)
_RULES_OF_DUTY = _pattern(
    "怎么(?:算|收|交|缴)|(?:免税|起征)(?:额|点|额度)|规则|规定|要不要(?:交|缴|付)|需要(?:交|缴)(?:关税|税)吗|是什么|什么是|谁(?:来)?(?:交|付)",
    r"how (?:is|are|does|do) (?:\w+ ){0,3}(?:calculated|work|charged|duty|duties|vat|customs)|de minimis|threshold|"
    r"duty[- ]free (?:limit|allowance)|who pays|what is (?:vat|duty|customs)|rules?",
)
_GENERAL = _pattern(
    "尺码(?:怎么|如何|表|对照|换算|对应)|(?:欧|美|英|日)码[^，。]{0,12}(?:是|等于|对应|换算)|(?:多大|几)码(?:合适|是)|"
    "(?:会不会|会)(?:缩水|起球|掉色|过敏)|是什么(?:材质|面料|材料|意思)|什么是|(?:材质|面料|成分)(?:怎么|有什么|安全)|"
    "能(?:不能)?(?:带上飞机|随身带|托运|邮寄|用(?:吗|在))|电压|插头标准|(?:退货|退换|退款|换货|保修)(?:政策|期|规则|要|怎么|多久|流程|运费)|怎么(?:退|换货)",
    r"size (?:chart|guide|conversion)|what size|convert (?:\w+ )?sizes?|(?:eu|us|uk) size|"
    r"does (?:\w+ ){1,3}(?:shrink|pill|fade)|"
    r"what is (?!the (?:price|total))\w+(?: \w+)? made|voltage|plug type|(?:allowed|bring|carry|"
    r"take) (?:\w+ ){0,4}on (?:a|the) plane|"
    r"(?:return|refund|warranty) (?:policy|period|rules?)|how (?:do|can) i (?:return|exchange)|"
    r"how long (?:do i have|is the warranty)",
)
_BUNDLE = _pattern(
    "(?:旅行|出差|露营|办公|护肤|下午茶|骑行|新手)\\w{0,2}套装|[配买](?:齐|一套|套)|(?:搭(?:配)?|准备|来|凑)一套|一套[^，。的]{0,4}(?:装备|用品|行头)|"
    "全套|整套|几件套|清单(?=：|:)|(?:要|该|得)(?:买|准备|带)(?:些什么|哪些|齐)",
    r"bundle|travel (?:set|kit)|everything (?:I|we) need for|(?:a|one) (?:full|complete|whole) set|(?:put|"
    r"get) together|starter (?:set|kit)|(?:camping|office|skincare) (?:set|kit)",
)
_RESEARCH = _pattern(
    "对比|比一比|比较(?:一下|下|几|这|两|它)|哪(?:个|款|种)(?:更|比较)?(?:好|值得|划算|适合)|有什么区别|区别是|怎么选|"
    "值得买吗|评测|货比三家",
    r"compare|comparison|versus|vs|which (?:one )?(?:is|are) (?:better|best)|difference between|research|worth buying|"
    r"pros and cons",
)
_IMAGE = _pattern("这张图|图片里|照片里|以图搜|截图|图里", r"(?:this|the|my) (?:photo|picture|image|screenshot)")
_FAULT = _pattern(
    "坏了|出故障|不亮了?|充不进|开不了机|没反应|有异响|失灵|连不上",
    r"broken|broke|doesn't work|not working|stopped working|won't (?:start|charge|turn on|connect)",
)
_ACCESSORY = _pattern(
    "配件|替换|耗材|备用的|兼容|适配", r"accessor(?:y|ies)|replacement|spare|compatible with|fits? my"
)
_USAGE = _pattern(
    "怎么(?:用|安装|清洗|保养|洗|充电|连接|调)|如何(?:使用|安装|清洗|保养)|说明书",
    r"how (?:do|can|should) I (?:use|install|clean|wash|connect|charge|care)|how to (?:use|install|clean|wash|connect|"
    r"charge)|instructions|manual",
)
_TWICE = _pattern(
    "多(?:看|找|比)几|多看看|换(?:个|几个)词|仔细(?:找|挑|看)|好好(?:找|挑)|再搜一",
    r"look around|search thoroughly|more options",
)


@lru_cache(maxsize=512)
def intent_of(words: str, wishes: Wishes) -> Intent:
    """The first that fits; what asks for no product and says nothing lasting is talk."""
    if asks_for_recap(words, wishes.queries) or chosen_position(words) is not None:
        return Intent.CHAT
    if order_wish(words) is not None:
        return Intent.ORDER_CARE
    for intent, pattern in _OF_A_SEARCH:
        if pattern.search(words):
            return intent
    if wishes.queries:
        return Intent.ACCESSORY if _ACCESSORY.search(words) else Intent.PRODUCT_SEARCH
    return _without_a_search(words, wishes)


_OF_A_SEARCH = (
    (Intent.LANDED_PRICE, _LANDED),
    (Intent.BUNDLE, _BUNDLE),
    (Intent.PURCHASE_RESEARCH, _RESEARCH),
    (Intent.IMAGE_SEARCH, _IMAGE),
)


def _without_a_search(words: str, wishes: Wishes) -> Intent:
    for intent, pattern in (
        (Intent.DEVICE_FAULT, _FAULT),
        (Intent.USAGE_QUESTION, _USAGE),
        (Intent.USAGE_QUESTION, _GENERAL),
        (Intent.ACCESSORY, _ACCESSORY),
    ):
        if pattern.search(words):
            return intent
    if wishes.to_remember or wishes.asks_what_is_known or wishes.asks_to_forget:
        return Intent.MEMORY
    if wishes.small_talk is not None:
        return Intent.CHAT
    if statements_in(words) and not wishes.refines:
        return Intent.MEMORY
    return Intent.PRODUCT_SEARCH


def looks_twice(words: str, intent: Intent) -> bool:
    """Whether one search would not do: things are to be compared, or the user asks for a closer look."""
    return intent is Intent.PURCHASE_RESEARCH or _TWICE.search(words) is not None


def asks_how_things_are(words: str, intent: Intent) -> bool:
    """A question that a guide answers: how duty is worked out, sizes, materials, returns, care."""
    if intent is Intent.LANDED_PRICE:
        return _RULES_OF_DUTY.search(words) is not None
    if intent is Intent.ORDER_CARE:
        return order_wish(words) is OrderWish.RETURN
    return intent in (Intent.USAGE_QUESTION, Intent.DEVICE_FAULT)
