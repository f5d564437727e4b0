"""Whether a text speaks for or against what it names: 「对坚果过敏」 is against, 「对坚果不过敏」 is not."""

import re

# 不 and 无 stand in words that refuse nothing.
_REFUSES_NOTHING = re.compile(
    r"不锈钢|不错|不过(?!敏)|不同|不粘|不仅|不但|不管|不论|不然|不少|不久|不一定|不得不|差不多|了不起|对不起"
    r"|不好意思|不用谢|不客气|要不(?!要)"
    r"|别人|别的|别墅|特别|级别|区别|性别|类别|分别|没关系|没问题|没事|是不是|能不能|会不会|要不要|有没有"
    r"|(?:拒绝|排除)不了|\bno problem\b|\bno worries\b|\bnot only\b|\bno longer than\b|\bwhy not\b|\bnever mind\b"
)
_AVERSION = (
    r"过敏(?!原|源|体质|性)|不耐受|忌口|忌|讨厌|厌(?!其烦)|反感|嫌弃|受不了|拒绝|避开|避免|排斥|反对|戒了|戒掉|怕"
    r"|\b(?:allerg(?:ic|y|ies)|intoleran(?:t|ce)|hates?|dislikes?|detests?|avoids?|avoiding|refuses?|loathes?"
    r"|sensitive to|can't stand|cannot stand|steer clear)\b"
)
_NEGATION = (
    r"不|没|别|勿|莫|\b(?:no|not|never|without|nor|none|nothing|don't|doesn't|didn't|won't|wouldn't|can't|cannot"
    r"|isn't|aren't|ain't|wasn't|haven't)\b"
)
_NEGATED_AVERSION = re.compile(
    rf"(?:{_NEGATION}|\bno longer\b|\banymore\b)\s*(?:再|会|是|算|太|怎么|那么|很|有|什么|any|an?|really|longer"
    rf"|so|that|very|known|\s)*(?:{_AVERSION})"
)
_ACCEPTS = re.compile(
    r"也?可以(?:接受)?了|也?没问题|没关系|无所谓|不介意|不在乎|不排斥|能接受|\b(?:don't|doesn't|do not|does not"
    r"|not) mind\b|\b(?:is|are) (?:now )?(?:fine|ok|okay)\b"
)
_AGAINST = re.compile(rf"{_AVERSION}|{_NEGATION}")


def is_against(text: str) -> bool:
    """Whether a normalised or folded text speaks against what it names. A refusal that is itself negated does not."""
    plain = _REFUSES_NOTHING.sub(" ", text)
    plain = _ACCEPTS.sub(" ", plain)
    plain = _NEGATED_AVERSION.sub(" ", plain)
    return _AGAINST.search(plain) is not None


_WORDS_OF_ATTITUDE = re.compile(
    r"可以(?:接受)?|没问题|没关系|无所谓|不介意|能接受|能(?=吃|喝|用|穿|买)|接受|避免|避开|[不厌喜吃喝穿用买戴选]"
    r"|\b(?:not|no|never|without|avoid(?:s|ing)?|like|dislike|refuses?|fine|ok|okay|anymore|any more|again|mind"
    r"|accept|now|only"
    r"|eats?|drinks?|buys?|uses?|wears?|owns?|chooses?)\b"
)


def without_attitude(text: str) -> str:
    """A folded text without the words that say for or against and what is done with the thing: what is left is it."""
    return _WORDS_OF_ATTITUDE.sub("", text)
