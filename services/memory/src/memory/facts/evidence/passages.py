"""Which parts of a message are the user's own words, and which are pasted, quoted or echoed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from common.text import normalise
from memory.facts.wording.persons import names_self


class Origin(StrEnum):
    OWN = "own"
    QUOTED = "quoted"
    PASTED = "pasted"


@dataclass(frozen=True)
class Passage:
    text: str
    origin: Origin


_LONGEST_OWN_LINE = 400
"""Characters. Shoppers do not write longer lines; pages are pasted like that."""
_LONGEST_OWN_TEXT = 2_000
"""Characters of a message that are read as the user's own; it also bounds the time that a message can take."""

_FENCED = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_TAGGED = re.compile(r"<([a-z][\w-]*)\b[^>]*>.*?(?:</\s*\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_QUOTED = re.compile(
    r"“[^”]*(?:”|\Z)|「[^」]*(?:」|\Z)|『[^』]*(?:』|\Z)|《[^》]*》|【[^】]*】|\"[^\"\n]*\"|(?<!\w)'[^'\n]{3,}'(?!\w)"
)
_LINK = re.compile(r"(?:https?://|www\.)\S+(?P<title>[^。！!？?\n]*)")

_INTRODUCTION = re.compile(r"^[^，。,!！?？；;:：\n]{1,60}(?<!\d)[:：]")
_OWN_INTRODUCTION = re.compile(
    r"我|记住|记下|记一下|别忘|备注|需求|要求|另外|对了|补充|说明一下|情况|请|ps\b|\b(?:i|i'm|my|me|remember|forget|note|fyi"
    r"|btw|also|save|please)\b",
    re.IGNORECASE,
)
_TAKEN = re.compile(
    r"帮我?(?:看|查|读|总结|分析|翻译)|怎么样|复制|粘贴|抄|摘|转发|说明|成分|描述|介绍|页|文章|评论|评价|标题"
    r"|消息|邮件|聊天|帖|朋友圈|公告|看到|收到|如下|以下|下面|原话|写着|写的|提到|发来|发的|\b(?:copied|pasted"
    r"|found|received|got|following|says?|here(?:'s| is)|review|page|listing|description|e-?mail|chat|forum|post"
    r"|title)\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\s*#{1,6}\s")
_QUOTE_LINE = re.compile(r"^\s*[>＞|]")
_BLOCK_LINE = re.compile(r"^\s*(?:[-*•]\s*)?\[(?!\[)[^\]\n]{2,20}\]|^\s*[{\[].*[\"“]\s*[:：]|^\s*[}\]]", re.IGNORECASE)
_SPEAKER_LINE = re.compile(
    r"^\s*(?:用户|助手|系统|客服|买家|卖家|店小二|小助手|user|assistant|system|human|ai|agent|customer|seller"
    r"|support|[a-z]\d?)\s*[:：]",
    re.IGNORECASE,
)
_SPEC_LINE = re.compile(r"^\s*(?:[-*•★·✅]\s*)?[^。，,！!？?:：\n]{1,14}[:：]\s*\S")
_BULLET_LINE = re.compile(r"^\s*(?:[-*•★·✅]|\d{1,2}[.、)])\s*\S")
_ASKS_TO_REMEMBER = re.compile(
    r"(?:记住|记下|记一下|记得|备注|remember|note|save)(?: that| this)?[\s:：,，]*$", re.IGNORECASE
)
_EMPHASIS = re.compile(r"[㐀-鿿]{1,4}|[a-zA-Z\d-]{1,14}(?: [a-zA-Z\d-]{1,14})?")
"""A quoted word or two is emphasis, and the sentence stays the user's own."""


def passages_of(message: str) -> list[Passage]:
    """The message in order, cut where its origin changes."""
    found: list[Passage] = []
    for block in _blocks(message):
        if block.origin is Origin.OWN:
            found += _lines(block.text)
        else:
            found.append(block)
    return list(_within_reading_length(found))


def _within_reading_length(passages: list[Passage]) -> Iterator[Passage]:
    left = _LONGEST_OWN_TEXT
    for passage in passages:
        own = passage.origin is Origin.OWN
        left -= len(passage.text) if own else 0
        yield passage if left >= 0 or not own else Passage(passage.text, Origin.PASTED)


def _blocks(message: str) -> list[Passage]:
    """Cuts out what is marked up as a whole: code fences and tags."""
    pieces = [Passage(message, Origin.OWN)]
    for mark in (_FENCED, _TAGGED):
        pieces = [cut for piece in pieces for cut in _cut(piece, mark, Origin.PASTED)]
    return pieces


def _cut(piece: Passage, mark: "re.Pattern[str]", origin: Origin) -> list[Passage]:
    if piece.origin is not Origin.OWN:
        return [piece]
    cuts: list[Passage] = []
    position = 0
    for found in mark.finditer(piece.text):
        cuts += [Passage(piece.text[position : found.start()], Origin.OWN), Passage(found.group(), origin)]
        position = found.end()
    cuts.append(Passage(piece.text[position:], Origin.OWN))
    return [cut for cut in cuts if cut.text.strip()]


def _lines(text: str) -> list[Passage]:
    lines = text.splitlines()
    listed = _listed(lines)
    found: list[Passage] = []
    introduced = False
    for line, is_listed in zip(lines, listed, strict=True):
        if not line.strip():
            continue
        if introduced or is_listed or _looks_pasted(line):
            found.append(Passage(line, Origin.PASTED))
            continue
        introduced = _HEADING.search(line) is not None
        own, pasted = ("", line) if introduced else _split_at_introduction(line)
        found += _inline(own)
        if pasted:
            found.append(Passage(pasted, Origin.QUOTED))
        # A line that ends with the colon introduces all that follows.
        introduced = introduced or (pasted is not None and not pasted.strip())
    return found


def _listed(lines: list[str]) -> list[bool]:
    """Lines that only make sense as parts of a pasted list: two or more specifications, bullets or speakers."""
    marks = [[kind.search(line) is not None for line in lines] for kind in (_SPEAKER_LINE, _SPEC_LINE, _BULLET_LINE)]
    counted = [kind for kind in marks if sum(kind) >= 2]
    return [any(kind[position] for kind in counted) for position in range(len(lines))]


def _looks_pasted(line: str) -> bool:
    return (
        len(line) > _LONGEST_OWN_LINE
        or _QUOTE_LINE.search(line) is not None
        or _BLOCK_LINE.search(line) is not None
        or _SPEAKER_LINE.search(line) is not None
    )


def _split_at_introduction(line: str) -> tuple[str, str | None]:
    """「商品页写着：…」, "The review says: …": what follows such a colon is somebody else's.

    What the user opens in their own name (「记住：…」, "my rule: …") stays theirs, unless they say where they took it.
    """
    position = 0
    for part in re.split(r"(?<=[，。,!！?？；;])", line):
        found = _INTRODUCTION.search(part)
        if found is not None and (_TAKEN.search(found.group()) or not _OWN_INTRODUCTION.search(found.group())):
            return line[: position + found.start()], line[position + found.end() :]
        position += len(part)
    return line, None


def _inline(line: str) -> list[Passage]:
    """Cuts links with their titles, and quotations, out of a line."""
    found: list[Passage] = []
    position = 0
    for link in _LINK.finditer(line):
        found += _quotations(line[position : link.start()])
        own_title = names_self(normalise(link["title"]))
        found += _quotations(link["title"]) if own_title else [Passage(link["title"], Origin.QUOTED)]
        position = link.end()
    found += _quotations(line[position:])
    return [passage for passage in found if passage.text.strip()]


def _quotations(text: str) -> list[Passage]:
    """What the user asks to remember stays their own word, in quotation marks too."""
    found: list[Passage] = []
    own = ""
    position = 0
    for quotation in _QUOTED.finditer(text):
        inside = quotation.group().strip("“”「」『』《》【】\"'")
        own += text[position : quotation.start()]
        position = quotation.end()
        if _EMPHASIS.fullmatch(inside) or (_ASKS_TO_REMEMBER.search(own) and quotation.group()[0] not in "《【"):
            own += inside
            continue
        found += [Passage(own, Origin.OWN), Passage(inside, Origin.QUOTED)]
        own = ""
    return [*found, Passage(own + text[position:], Origin.OWN)]
