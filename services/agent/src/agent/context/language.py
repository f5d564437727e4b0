"""The language a text is in, as far as we answer in it."""

import re

from agent.catalogue.terms import Language

_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN = re.compile("[A-Za-z]")


def language_of(text: str, locale: str = "zh-CN") -> Language:
    """Chinese if the text has a Chinese character, English if it has Latin letters, else what the locale says."""
    if _CHINESE.search(text):
        return "zh"
    if _LATIN.search(text):
        return "en"
    return "zh" if locale.startswith("zh") else "en"
