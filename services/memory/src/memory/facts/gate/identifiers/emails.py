"""E-mail addresses, also spelled out (alice at example dot com) and with spaces inside."""

import re

import re2

from memory.facts.gate.normalisation import ScannedText

# Between the two halves. The explicit ones mean an address wherever a local part and a domain stand beside them.
_AT = re2.compile(r"(?P<sign>@)|(?P<explicit>[(\[{<] ?(?:at|@) ?[)\]}>]|\barobase\b|艾特|圈a|\(圈\))|(?P<word>\bat\b)")
_HINTS = ("@", " at ", "at)", "at]", "at}", "at>", "arobase", "艾特", "圈")
_LOCAL = re.compile(r"(?:[^\s@<>,;:()\[\]{}\"']{1,64})(?P<gap> {0,2})$")
_DOT = r"(?:\.| ?[(\[{](?:dot|\.)[)\]}] ?| dot | punkt | point | ?点 ?| ?。 ?)"
_DOMAIN = re.compile(
    rf"(?P<gap> {{0,2}})(?P<name>[^\W_][\w\-]{{0,62}}(?:{_DOT}[\w\-]{{1,63}}){{0,4}}"
    rf"{_DOT}(?P<top>[^\W\d][\w\-]{{1,23}}))(?![\w@])"
)
_SPACED_DOMAIN = re.compile(r"(?P<gap> {0,2})[^\W_][\w\-]{0,62} {0,2}\. {0,2}(?P<top>[a-z]{2,6})(?![\w@])")
_LITERAL_DOMAIN = re.compile(r"\[\d{1,3}(?:\.\d{1,3}){3}\]")
_PROVIDER = re.compile(r" {0,2}(?:gmail|outlook|hotmail|yahoo|icloud|protonmail|gmx|qq|163|126|foxmail)\b")
_SPELLED_DOT = re.compile(r"dot|punkt|point|点")
_COMMON_TOP = frozenset(
    (
        *("com", "net", "org", "edu", "gov", "info", "biz", "io", "dev", "app", "me", "example"),
        *("cn", "de", "fr", "uk", "eu", "jp", "ru", "us", "es", "it", "nl", "pl"),
    )
)
_MAIL = re2.compile(
    r"\be-?mails?\b|\bmail\b|邮箱|邮件|郵箱|\bwrite (?:to|me)\b|\b(?:contact|reach) me\b|courriel|schreib"
)
_ADDRESS_LIKE = re.compile(r"[+_\d]|\w\.\w")

_BEFORE = 66
_BEHIND = 160


def holds_email(scanned: ScannedText) -> bool:
    text = scanned.text
    if not any(hint in text for hint in _HINTS):
        return False
    return any(
        _is_address(
            match.lastgroup,
            text[max(0, match.start() - _BEFORE) : match.start()],
            text[match.end() :][:_BEHIND],
            scanned,
        )
        for match in _AT.finditer(text)
    )


def _is_address(at: str, before: str, behind: str, scanned: ScannedText) -> bool:
    local = _LOCAL.search(before)
    if local is None:
        return False
    if at == "sign":
        return _is_written(local, behind)
    domain = _DOMAIN.match(behind)
    if at == "explicit":
        return domain is not None or _PROVIDER.match(behind) is not None
    if domain is None:
        return _PROVIDER.match(behind) is not None and _speaks_of_mail(local.group(), scanned)
    return _SPELLED_DOT.search(domain["name"]) is not None or _speaks_of_mail(local.group(), scanned)


def _is_written(local: re.Match[str], behind: str) -> bool:
    """With an `@`: spaces beside it are allowed where a well-known ending shows that a domain was meant."""
    if _LITERAL_DOMAIN.match(behind):
        return not local["gap"]
    domain = _DOMAIN.match(behind) or _SPACED_DOMAIN.match(behind)
    if domain is None:
        return False
    apart = local["gap"] or domain["gap"] or domain.re is _SPACED_DOMAIN
    return not apart or domain["top"] in _COMMON_TOP


def _speaks_of_mail(local: str, scanned: ScannedText) -> bool:
    """「shops at example.com」 names a shop; 「mail: john at example.com」 and 「yo+yo at example.com」 a mailbox."""
    return bool(_ADDRESS_LIKE.search(local) or _MAIL.search(scanned.about) or _MAIL.search(scanned.text))
