"""Keys, passwords and other secrets."""

import re
from itertools import pairwise

import re2

from memory.facts.gate.normalisation import ScannedText

# Forms that issuers chose so that they can be found.
_KEY_FORMS = re2.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
    r"|(?:^|[^A-Za-z0-9])(?:"
    r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}"  # JWT
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_\-]{30,}"
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_\-]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9\-]{10,}"
    r"|(?:sk|pk|rk)[_\-](?:live|test|proj|ant|or)?[_\-]?[A-Za-z0-9_\-]{16,}"
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_\-]{20,}|SG\.[A-Za-z0-9_\-]{16,}"
    r")"
)

_CREDENTIAL = re2.compile(
    r"(?:密码|口令|密碼|验证码|驗證碼|密钥|令牌"
    r"|\bpass(?:word|code|phrase)\b|\bpasswort\b|\bmot de passe\b|\bpin(?: code)?\b|\bcvv2?\b|\bcvc\b|\botp\b"
    r"|\bapi[ _\-]?key\b|\b(?:access|secret|private|auth)[ _\-]?(?:key|token)\b|\bsecret\b|\btoken\b)"
    r" ?(?:是|为|為|[:=]|\bis\b|\blautet\b) ?[\"']?(?P<said>[^\s\"'，。；;,]{3,})"
)
_ABOUT = re2.compile(
    r"密码|口令|密钥|\bpass(?:word|code|phrase)\b|\bpasswort\b|\bpin(?: code)?$|\bcvv\b|\bapi key\b|\bsecret\b"
)
_ALONE = re.compile(r" ?(?P<said>\S{3,}) ?")

_TOKEN = re.compile(r"(?<![A-Za-z0-9_+=\-])[A-Za-z0-9_+=\-]{24,}")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{32,}")
_FEWEST_CHANGES = 7


def holds_key(scanned: ScannedText) -> bool:
    if scanned.digit_count == 0 and "PRIVATE KEY" not in scanned.cased:
        return False
    return _KEY_FORMS.search(scanned.cased) is not None


def holds_credential(scanned: ScannedText) -> bool:
    """「密码是 …」, `token=…`: what follows must look like a secret and not like a word."""
    if scanned.digit_count == 0:
        return False
    if any(_is_no_word(match["said"]) for match in _CREDENTIAL.finditer(scanned.text)):
        return True
    alone = _ALONE.fullmatch(scanned.text) if _ABOUT.search(scanned.about) else None
    return alone is not None and _is_no_word(alone["said"])


def holds_random_token(scanned: ScannedText) -> bool:
    """A long token whose letters and digits are mixed as no name of a thing mixes them."""
    return scanned.digit_count > 0 and any(_is_random(token) for token in _TOKEN.findall(scanned.cased))


def _is_no_word(said: str) -> bool:
    return any(map(str.isdigit, said))


def _is_random(token: str) -> bool:
    if _HEXADECIMAL.fullmatch(token) and not token.isdigit() and not token.isalpha():
        return True
    cases = (any(map(str.isupper, token)), any(map(str.islower, token)), any(map(str.isdigit, token)))
    changes = sum(one.isdigit() != other.isdigit() for one, other in pairwise(token))
    return all(cases) and changes >= _FEWEST_CHANGES
