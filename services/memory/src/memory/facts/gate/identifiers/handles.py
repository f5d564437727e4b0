"""Names by which somebody is reached in a messenger."""

import re

import re2

from memory.facts.gate.normalisation import ScannedText

_SERVICE = r"(?:微信|薇信|v信|wechat|weixin|\bwx|\bqq|whatsapp|telegram|\btg\b|\bline id|\bskype|\bsignal\b)"
_IS = r"(?:是|为|[:=]|\bis\b)"
_HANDLE = r"@?[a-z0-9][a-z0-9_\-.]{3,31}"
# The service, then a sign that a name follows: 「微信号 …」, "wechat id: …", 「我的QQ是…」.
_SAID = re2.compile(rf"{_SERVICE} ?(?:(?:号码?|账号|帐号|id|name|handle) ?{_IS}?|{_IS}) ?(?P<handle>{_HANDLE})")
_ABOUT = re2.compile(rf"{_SERVICE} ?(?:号码?|账号|id|name|handle|contact)|^{_SERVICE}$")
_ALONE = re.compile(rf" ?{_HANDLE} ?")


def holds_handle(scanned: ScannedText) -> bool:
    if scanned.digit_count == 0 and "_" not in scanned.text:
        return False
    return any(_is_name(match["handle"]) for match in _SAID.finditer(scanned.text)) or (
        _ABOUT.search(scanned.about) is not None
        and _ALONE.fullmatch(scanned.text) is not None
        and _is_name(scanned.text)
    )


def _is_name(handle: str) -> bool:
    """A word alone says little (`wechat is fine`); digits and underscores make it a name."""
    return any(character.isdigit() or character == "_" for character in handle)
