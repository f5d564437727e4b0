"""What kind of turn it is: the closed list that the planner's plan names."""

import re
from enum import StrEnum

from offline_model.language.choices import asks_for_recap, chosen_position
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


_ORDER = _pattern(
    "我的订单|订单(?:号|状态|到哪|什么时候)|查(?:一下)?(?:订单|物流|快递)|物流|快递(?:到哪|单)|发货了(?:吗|没)|到货了(?:吗|没)|"
    "退货|退款|换货|售后|取消订单|催单|帮我下单",
    r"my (?:last )?orders?|order (?:status|number)|track(?:ing)?|refunds?|return (?:it|them|the|my)|"
    r"exchange (?:it|the)|cancel (?:the|my) order|where is my (?:parcel|package)",
)
_LANDED = _pattern(
    "关税|到手价|清关|税费|进口税|增值税|含税",
    r"customs|import (?:tax|duty|duties)|duty|duties|landed (?:price|cost)|vat",
)
_BUNDLE = _pattern(
    "(?:旅行|出差|露营|办公|护肤|下午茶|骑行|新手)\\w{0,2}套装|配(?:齐|一套|套)|搭(?:配)?一套|全套|整套|几件套|清单(?=：|:)",
    r"bundle|travel (?:set|kit)|(?:put|get) together|starter (?:set|kit)|(?:camping|office|skincare) (?:set|kit)",
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


def intent_of(words: str, wishes: Wishes) -> Intent:
    """The first that fits; what asks for no product and says nothing lasting is talk."""
    if asks_for_recap(words, wishes.queries) or chosen_position(words) is not None:
        return Intent.CHAT
    if _ORDER.search(words):
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
