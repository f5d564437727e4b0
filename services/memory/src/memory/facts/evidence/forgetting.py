"""Whether the user wants forgotten what they say. All is read on normalised text (lower case, straight apostrophes).

Who speaks of forgetting may mean the opposite (`_REMINDERS`, 「别忘了」) or tell of it (`_FORGOT`, 「你又忘了」):
these are taken out first, and what is left asks for it. Deleting is also said of products; it asks to forget only
where its object is a memory.
"""

import re


def _any(*patterns: str) -> str:
    return "|".join(patterns)


_DELETE = r"(?:删[除掉了去]?|清除|清掉|清空|取消|去掉|移除|撤销|抹掉|抹去|划掉)"
_MEMORY = r"(?:记录|记忆|备忘|笔记|这件事|这一?[条点](?=$|吧|了|记|删))"
_DELETE_ENGLISH = r"\b(?:delete|erase|remove|drop|clear|wipe|scrap)\b"
_MEMORY_ENGLISH = r"\b(?:notes?|fact|memory|memories|records?|entry)\b"

_MUST_NOT = (
    # 「要不忘了吧」 and 「能不能忘了」 ask for it.
    r"(?:别|勿|莫|没|(?<![能会要])不)(?:要|用|能|可以?|会|许|准|得|该|想)?(?:再|给我|让我|让你)*"
)
_MUST_NOT_ENGLISH = (
    # "Why not forget" and "can't you forget" ask for it.
    r"(?:(?<!why )\b(?:don't|dont|do not|never|not|cannot|mustn't|shouldn't|(?:won't|can't)(?! you))"
    r"|\blest(?= you| we| i))"
    r"(?: you| we| i| ever| dare| to| let me| want you to| want to)*"
)
_REMINDERS = re.compile(
    _any(
        rf"{_MUST_NOT}(?:把(?P<what>[^，]{{1,30}}?))?(?:忘[掉了记]*|{_DELETE}(?=[^，]{{0,30}}{_MEMORY}))",
        rf"{_MUST_NOT_ENGLISH} forget\b(?: that\b)?",
        rf"{_MUST_NOT_ENGLISH} {_DELETE_ENGLISH}(?: that\b(?= i\b)|(?= (?:the |my |this |that )?{_MEMORY_ENGLISH}))",
    )
)
_FORGOT = re.compile(
    _any(
        # 「帮我忘了」, 「希望你忘了」, 「你忘了吧」 and 「你忘掉」 ask for it.
        r"(?:差点|刚才?|又|总是?|老是?|经常|居然|竟然|(?<![帮给替])我|(?<![望要想让请求])你)(?:都|给|又)*"
        r"(?:把[^，]{1,30}?)?给?忘(?!掉(?!了))[了记]*(?![^，]*吧)",
        r"忘[了记]*(?:说|讲|提|问|写|告诉|跟你|和你)",
        r"\b(?:always|often|usually|constantly|sometimes|still|keep|tend to|seem to) forget\b",
        r"\bforget to\b",
    )
)

_NEED_NOT = (
    r"(?:(?<![特区级性类])别|不要|不用|不必|无需|不需要|没必要|不(?:想|希望|愿意)(?:让|要)?你)"
    r"(?:再|你|帮我|给我)*(?:把[^，]{1,30}?)?"
)
_KEEP = (
    r"(?:remember|save|store|record|memori[sz]e|keep(?: it| this| that)? (?:in|on)(?: your)? (?:mind|memory|file))\b"
)
_REQUEST = _any(
    r"忘(?:掉|记|了(?=.))|(?<=.)忘了$|当我没说",
    r"\b(?:forget|unlearn)\b",
    # 「别记错」 is no request, nor are 「不用记账」 and 「不用存钱」.
    rf"{_NEED_NOT}(?:记(?:住|得|下|着|录)*(?![错成混账])|(?:保存|存)(?![期钱款货放]))",
    # "I don't remember" and "you never remember" tell; they ask for nothing.
    rf"(?<!\bi )(?<!\byou )\b(?:don't|dont|do not|never)(?: you)?(?: ever)? {_KEEP}",
    rf"\b(?:don't|dont|do not) (?:want you|need|have) to {_KEEP}",
    rf"\b(?:should not|shouldn't|need not|needn't|better not|please not|no need to) {_KEEP}",
    r"\bstop remembering\b",
    rf"{_DELETE}(?:[我对]|关于|[^，]{{0,30}}{_MEMORY})",
    rf"(?:把(?:我|关于)|{_MEMORY})[^，]{{0,30}}{_DELETE}",
    # Not "delete my bag I'm vegan", where a sentence begins behind the object.
    rf"{_DELETE_ENGLISH} (?:that i\b|.{{0,30}}{_MEMORY_ENGLISH}|my\b(?!.*\bi\b))",
    r"\b(?:delete|erase) (?:that|this)(?= please\b| now\b|$)",
)
_ASKS = re.compile(_REQUEST)
_ASKS_AND_NO_MORE = re.compile(
    r"(?:请|麻烦|帮我|你|您|就|还是|但是?|不过|算了|把|这(?:[个条点]|件事)?|那个?|它|信息|都|也"
    r"|please|just|and|but|so|you can| )*"
    rf"(?:{_REQUEST})"
    r"(?:这(?:[个条点]|件事)?|那个?|它|下来|一下|吧|了|啊|哦|i said|what i said|that|this|it|about|please|now| )*"
)
_ONLY_A_SLIP = re.compile(r"[^忘请把]{0,4}忘记?了")
"""「忘了」 alone is "I forgot"."""
_NEVER_MIND = re.compile(r"\bforget (?:about )?it\b")
_POINTS_BACK = re.compile(r"那|它|\b(?:it|that)\b|\bi said\b")
"""Of a request: it is about something said before, and not about what follows."""
_FILLER = re.compile(r"actually|oh|no|well|ok(?:ay)?|sorry|算了|好吧|嗯+|哦|不|对了|抱歉")


def without_reminders(sentence: str) -> str:
    """The sentence without "don't forget that": what is left is meant, and that negation is not part of it."""
    return _REMINDERS.sub(r"\g<what>", sentence)


def to_be_forgotten(clauses: list[str]) -> list[bool]:
    """Whether each clause of a sentence is to be forgotten: it says so, or one that says nothing else does.

    Such a one is about all before it (「…，忘了吧」); where it opens the sentence it is about the next (「忘掉：…」).
    """
    requests = _bare_requests(clauses)
    last = requests[-1] if requests else -1
    announced = 1 if 0 in requests and not _POINTS_BACK.search(clauses[0]) else -1
    return [_asks(clause) or position < last or position == announced for position, clause in enumerate(clauses)]


def takes_back(clauses: list[str]) -> bool:
    """Whether a sentence opens by asking to forget the one before it: "Forget that."."""
    opening = next((position for position, clause in enumerate(clauses) if not _FILLER.fullmatch(clause)), -1)
    return opening in _bare_requests(clauses)


def _asks(clause: str) -> bool:
    return _ASKS.search(_FORGOT.sub(" ", clause)) is not None


def _bare_requests(clauses: list[str]) -> list[int]:
    """Positions of the clauses that ask to forget and say nothing else. "Forget it, …" goes on to something else."""
    return [
        position
        for position, clause in enumerate(clauses)
        if _ASKS_AND_NO_MORE.fullmatch(clause)
        and not _ONLY_A_SLIP.fullmatch(clause)
        and not (_NEVER_MIND.search(clause) and position < len(clauses) - 1)
    ]
