"""How much of a text is read: a few thousand characters of rules must not keep the server busy for long."""

import re

_READ_MAX = 2_000
_REPEATED = re.compile(r"(.{1,4}?)\1{15,}", re.DOTALL)


_QUOTATION = re.compile(
    r"((?:写着|写的是|页面|网页|网站|标题|详情|评论|评价|说明书|广告|提示|邮件)[^「『“\"。！？!?\n]{0,12}|"
    r"\b(?:says?|said|reads?|states?|review|page|label)\b[^“\".!?\n]{0,12})"
    r"(?:「[^」]*」|『[^』]*』|“[^”]*”|\"[^\"]*\")",
    re.IGNORECASE,
)


def own_words(text: str) -> str:
    """What the user says of themself, as much as is read: what they quote from a page is the page's."""
    return _QUOTATION.sub(r"\1", readable(text))


def readable(text: str) -> str:
    """The beginning of a text, without what is only repeated: nobody says a thing sixteen times in a row."""
    return _REPEATED.sub(r"\1\1\1", text[:_READ_MAX])
