"""Whether words call for a skill that the user wrote: by its name, or by what its description quotes."""

import re

_QUOTED = re.compile(r"[「『“\"](?P<words>[^」』”\"]{2,40})[」』”\"]")
_RUN = 4
"""Chinese characters in a row that a description and the words have in common."""
_ONLY_CHINESE = re.compile(r"[^\u3400-\u9fff]+")


def is_called_for(words: str, name: str, description: str) -> bool:
    folded = words.casefold()
    called = name.removeprefix("my/").replace("-", " ")
    quoted = [found["words"].casefold() for found in _QUOTED.finditer(description)]
    if called in folded.replace("-", " ") or any(each in folded for each in quoted):
        return True
    return not quoted and _have_a_run_in_common(words, description)


def _have_a_run_in_common(words: str, description: str) -> bool:
    runs = _ONLY_CHINESE.split(description)
    return any(run[start : start + _RUN] in words for run in runs for start in range(len(run) - _RUN + 1))
