"""The guides: short texts in both languages, cut at their headings."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Section:
    """One answer: the guide it stands in, its heading and its text, each in Chinese and English."""

    guide: str
    heading: str
    text: str

    @property
    def section_id(self) -> str:
        return f"{self.guide}: {self.heading}"


@cache
def load_sections() -> tuple[Section, ...]:
    """All sections, by guide and in their order there."""
    guides = sorted(files("agent.knowledge").joinpath("guides").iterdir(), key=lambda guide: guide.name)
    return tuple(section for guide in guides for section in read_guide(guide.read_text(encoding="utf-8")))


def read_guide(markdown: str) -> list[Section]:
    """`# title`, then sections of `## heading` and text. What stands before the first heading belongs to none."""
    title, *rest = markdown.removeprefix("# ").split("\n## ")
    guide = title.strip().partition("\n")[0]
    return [
        Section(guide, heading.strip(), text.strip()) for heading, _, text in (part.partition("\n") for part in rest)
    ]
