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
    "关税|到手(?:价|要|多少|一共|总|便宜|更|最)|清关|税费|进口税|增值税|含税|运费|"
    "寄(?:到|去|往)[^，。]{2,8}(?:一共|总共|全部)(?:要|得|下来)?(?:多少|几)|"
    "(?:能不能|可不可以|能否)(?:直接)?(?:寄|发|送|运)(?:到|去|往)|^[^，。]{0,8}能(?:寄|发|送)(?:到|去|往)[^，。]{2,8}吗[？?]?$",
    r"customs|import (?:tax|duty|duties)|duty|duties|landed (?:price|cost)|vat|shipping (?:cost|fee)s?|delivered price|"
    r"(?:in )?total (?:cost|price)? ?(?:delivered|shipped) to|all in(?:cluded)? (?:to|in)|"
    r"(?:cost|pay)\b[^.?!]{0,40} (?:in total|altogether|all in|delivered|including (?:tax|duty|shipping))|"
    r"what (?:are|would be) the (?:fees|charges)|"
    r"can (?:you|it|this|that|they) (?:be )?(?:ship|deliver|send)(?:ped|ed)? (?:[^.?!,]{1,30} )?to",
)
_RULES_OF_DUTY = _pattern(
    "怎么(?:算|收|交|缴)|(?:免税|起征)(?:额|点|额度)|规则|规定|要不要(?:交|缴|付)|需要(?:交|缴)(?:关税|税)吗|是什么|什么是|谁(?:来)?(?:交|付)",
    r"how (?:is|are|does|do) (?:\w+ ){0,3}(?:calculated|work|charged|duty|duties|vat|customs)|de minimis|threshold|"
    r"duty[- ]free (?:limit|allowance)|who pays|what is (?:vat|duty|customs)|rules?",
)
_GENERAL = _pattern(
    "尺码(?:怎么|如何|表|对照|换算|对应)|(?:欧|美|英|日)码[^，。]{0,12}(?:是|等于|对应|换算)|(?:多大|几)码(?:合适|是)|"
    "(?:会不会|会)(?:缩水|起球|掉色|过敏)|是什么(?:材质|面料|材料|意思)|什么是|(?:材质|面料|成分)(?:怎么|有什么|安全)|"
    "能(?:不能)?(?:带上飞机|随身带|托运|邮寄|用(?:吗|在))(?!的)|电压|插头标准|(?:退货|退换|退款|换货|保修)(?:政策|期|规则|要|怎么|多久|流程|运费)|怎么(?:退|换货)",
    r"size (?:chart|guide|conversion)|what size|convert (?:\w+ )?sizes?|(?:eu|us|uk) size|"
    r"does (?:\w+ ){1,3}(?:shrink|pill|fade)|"
    r"what is (?!the (?:price|total))\w+(?: \w+)? made|voltage|plug type|(?:allowed|bring|carry|"
    r"take) (?:\w+ ){0,4}on (?:a|the) plane|"
    r"(?:return|refund|warranty) (?:policy|period|rules?)|how (?:do|can) i (?:return|exchange)|"
    r"how long (?:do i have|is the warranty)",
)
_BUNDLE = _pattern(
    "(?:旅行|出差|露营|办公|护肤|下午茶|骑行|新手)\\w{0,2}套装|[配买备凑](?:齐|一套|套)|(?:搭(?:配)?|准备|来|列|置办)一[套身]|一[套身][^，。的]{0,6}(?:装备|用品|行头)|"
    "全套|整套|几件套|清单(?=：|:)|(?:要|该|得|需要)(?:买|准备|带|添置)(?:些什么|哪些|齐|的东西)|"
    "(?:[^，。、]{1,8}[、，]){2,}[^，。、]{0,4}(?:一共|总共|合计|总预算|加起来)",
    r"bundle|travel (?:set|kit)|everything (?:I|we) need for|(?:full|complete|whole|entire) (?:\w+ )?(?:set|kit|"
    r"outfit)|"
    r"(?:put|get) together|setting up (?:a|my|our)|set up (?:a|my|our)|starter (?:set|kit)|what (?:else )?(?:do|"
    r"will) (?:I|we) need|"
    r"(?:[\w-]+(?: [\w-]+)?, ){1,}[^.?!]{1,40}(?:altogether|in total|all together)|(?:camping|office|"
    r"skincare) (?:set|kit)",
)
_RESEARCH = _pattern(
    "对比|比一比|比较(?:一下|下|几|这|两|它)|哪(?:个|款|种)(?:更|比较)?(?:好|值得|划算|适合)|有什么(?:区别|不同)|区别是|怎么选|"
    "差(?:在哪|别|距|多少)|值不值|值得(?:买|入手|多花|升级)|评测|货比三家|[^，。]{2,12}还是[^，。看]{2,12}(?:好|合适|划算|呢|[？?])",
    r"compare|comparison|versus|vs|which (?:one )?(?:is|are) (?:better|best)|differences?|differ|research|"
    r"worth (?:it|the|buying|paying|upgrading)|pros and cons|should (?:I|we) (?:get|buy|choose|take|go for|"
    r"pick) [^.?!]{2,60} or",
)
_IMAGE = _pattern(
    "(?:这|那|一|几|两)张(?:图|照片|截图)|(?:图片|照片|参考图)(?:里|中|上)|(?<![地拼插])图(?:里|中|上)|以图|看图|参考图|截图|附图",
    r"(?:attach(?:ed|ing)?|sen[dt]|upload(?:ed)?|here(?:'s| is)|in|from|see|this|the|my) (?:(?:a|an|the|this|my|"
    r"you) ){0,2}"
    r"(?:photo|picture|pic|image|screenshot)(?! (?:frame|album|book|paper|print))",
)
_FAULT = _pattern(
    "坏了|没声音|不出声|漏水|出故障|不亮了?|充不进|开不了机|没反应|有异响|失灵|连不上",
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
    if wishes.to_remember:
        return Intent.MEMORY
    for intent, pattern in (
        (Intent.DEVICE_FAULT, _FAULT),
        (Intent.USAGE_QUESTION, _USAGE),
        (Intent.USAGE_QUESTION, _GENERAL),
        (Intent.ACCESSORY, _ACCESSORY),
    ):
        if pattern.search(words):
            return intent
    if wishes.asks_what_is_known or wishes.asks_to_forget:
        return Intent.MEMORY
    if wishes.small_talk is not None or not any(map(str.isalnum, words)):
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
