"""What a user wants of orders: to place one, to see them, to settle a card, or to send something back."""

import re
from enum import StrEnum


class OrderWish(StrEnum):
    PLACE = "place"
    LOOK_UP = "look_up"
    SETTLE = "settle"
    """Confirm or cancel a card: only the user can, and not by asking the model."""
    RETURN = "return"


def _pattern(chinese: str, english: str) -> "re.Pattern[str]":
    return re.compile(rf"{chinese}|\b(?:{english})", re.IGNORECASE)


_SETTLE = _pattern(
    "(?:确认|取消)(?:这|那|我的|刚才的|上一)?(?:个|笔|张)?订单|订单卡?[^，。]{0,8}(?:取消|确认)|(?:帮我|替我|给我|直接)确认(?:下单|订单)?|确认下单",
    r"(?:confirm|cancel) (?:the|my|this|that) (?:order|card)\b",
)
_LOOK_UP = _pattern(
    "我的订单|(?:上次|上一次|之前|刚才|昨天)的订单|订单(?:号|状态|到哪|什么时候|呢|列表|记录|有哪些|怎么样|情况)|"
    "(?:地址|收货人|电话)[^，。]{0,4}[填写]错|改(?:一下)?(?:收货)?地址|(?:开|要)发票|(?:查|看)(?:一下|看)?(?:我的)?(?:订单|物流|快递)|物流|快递(?:到哪|单)|"
    "(?:我)?(?:下过|买过)(?:哪些|什么)单|发货了(?:吗|没)|到货了(?:吗|没)|催单",
    r"my (?:\w+ )?orders?\b|order (?:status|number|history)\b|tracking\b|track (?:my|the|it)\b|change (?:the|"
    r"my) (?:\w+ )?address\b|"
    r"where is my (?:parcel|package|order)\b|what (?:did|have) I (?:order(?:ed)?|buy|bought)\b",
)
_RETURN = _pattern(
    "退货|退款|退换|换货|售后|保修(?:期|政策|怎么|多久|吗|内)|[漏错少]发|收到[^，。]{0,6}(?:碎|坏|破|漏|少|错|不对)|"
    "(?:包裹|快递)[^，。]{0,6}(?:少了|丢|破|湿)",
    r"refunds?\b|returns\b|return (?:it|them|the|my|policy)\b|exchange (?:it|the)\b|"
    r"(?:under|is the) warranty\b|warranty (?:claim|period|policy|rules?)\b|"
    r"(?:parcel|package|delivery|order)\b[^.?!]{0,30}(?:missing|damaged|broken|incomplete)\b|"
    r"(?:missing|damaged|broken|wrong)\b[^.?!]{0,30}(?:parcel|package|delivery)\b",
)
_PLACE = _pattern(
    "下单|下个单|订购|(?:帮我|就|直接|再)?买(?:下|一次|一遍)?第[一二两三四五1-5](?:个|款|件|条|双|只)|(?:就|帮我|直接)买(?:这|它|那)",
    r"place an order\b|(?:order|buy|purchase) (?:(?:\d{1,2}|two|three|one) of )?(?:the )?(?:first|second|third|"
    r"fourth|fifth)\b|"
    r"(?:order|buy|purchase) (?:it|them|both|this one|that one|(?:number|option) [1-5])\b|"
    r"(?<!in )(?<!my )(?<!the )order (?:me )?(?:an?|the|two|three|\d{1,2}) ",
)
_NOT_YET = _pattern(
    "(?:不要?|别|先不|不想|暂不)(?:急着|现在|先|马上)?(?:下单|订购|买)",
    r"(?:don't|do not|won't|not)(?: \w+){0,3} (?:order|buy|purchase)\b",
)
_STATES = (
    ("pending", _pattern("待确认|没确认|未确认", r"pending\b|unconfirmed\b")),
    ("confirmed", _pattern("已确认|确认过|确认了的|买过的", r"confirmed\b")),
    ("cancelled", _pattern("已取消|取消了的|取消的", r"cancell?ed\b")),
    ("expired", _pattern("过期", r"expired\b")),
)


def order_wish(words: str) -> OrderWish | None:
    """The first that fits: 「取消我的订单」 is no look-up, and 「怎么退货」 no order."""
    wish = next((wish for wish, pattern in _IN_ORDER if pattern.search(words)), None)
    return None if wish is OrderWish.PLACE and _NOT_YET.search(words) else wish


_IN_ORDER = (
    (OrderWish.SETTLE, _SETTLE),
    (OrderWish.LOOK_UP, _LOOK_UP),
    (OrderWish.RETURN, _RETURN),
    (OrderWish.PLACE, _PLACE),
)


def order_state_in(words: str) -> str | None:
    """Only orders in this state are asked for."""
    return next((state for state, pattern in _STATES if pattern.search(words)), None)
