"""Which of its two languages the model answers in."""

import re

_CHINESE = re.compile(r"[\u3400-\u9fff]")


def is_chinese(text: str) -> bool:
    return _CHINESE.search(text) is not None


def in_language(chinese: bool, chinese_text: str, english_text: str) -> str:
    return chinese_text if chinese else english_text
