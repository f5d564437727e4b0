"""What is asked: requests that should have a skill read, and near misses that should not."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

_FILE = Path(__file__).with_name("requests.yaml")


@dataclass(frozen=True)
class Row:
    """`should` tells whether `skill` is to be read for these words."""

    skill: str
    should: bool
    words: str


def read_rows(skills: Sequence[str]) -> list[Row]:
    """Raises ValueError where the file is not about exactly these skills, or says a thing twice."""
    listed = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    if sorted(listed) != sorted(skills):
        raise ValueError(f"{_FILE.name} is about {sorted(listed)}, and the skills are {sorted(skills)}")
    rows = [
        Row(skill, should, words)
        for skill in sorted(listed)
        for should in (True, False)
        for words in listed[skill]["should" if should else "should_not"]
    ]
    twice = [row for row, times in Counter(rows).items() if times > 1]
    if twice:
        raise ValueError(f"{_FILE.name} says a thing twice: {twice}")
    return rows
