"""The skills there are, and L1: their names and descriptions at the end of the system message, sorted."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

from agent.context.fences import neutralise
from agent.context.markdown import InvalidMarkdown
from agent.skills.skill import FILE_NAME, Skill, read_skill


class Skills:
    def __init__(self, skills: Iterable[Skill]) -> None:
        self._by_name = {skill.name: skill for skill in sorted(skills, key=lambda skill: skill.name)}

    def __iter__(self) -> Iterator[Skill]:
        return iter(self._by_name.values())

    def get(self, name: str) -> Skill | None:
        return self._by_name.get(name)

    @property
    def names(self) -> list[str]:
        return list(self._by_name)

    def catalogue(self) -> str:
        """The text of L1; nothing where there are no skills."""
        if not self._by_name:
            return ""
        lines = [f"- {skill.name}: {neutralise(skill.description)}" for skill in self]
        return "\n".join(["", "<available_skills>", *lines, "</available_skills>", ""])


@cache
def builtin_skills() -> Skills:
    """The skills of this release. Raises ValueError: a release with a broken skill must not start."""
    folders = files("agent.skills").joinpath("builtin").iterdir()
    skills: list[Skill] = []
    for folder in sorted((folder for folder in folders if folder.is_dir()), key=lambda folder: folder.name):
        try:
            skills.append(read_skill(folder.joinpath(FILE_NAME).read_text(encoding="utf-8"), folder.name))
        except (InvalidMarkdown, FileNotFoundError) as error:
            raise ValueError(f"skill {folder.name}: {error}") from error
    return Skills(skills)
