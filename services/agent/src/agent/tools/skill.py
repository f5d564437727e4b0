"""`Skill`: reads a skill's body. It only ever adds knowledge; nothing is done."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from agent.skills.catalogue import Skills
from agent.skills.loaded import skill_content
from agent.skills.personal import PREFIX, personal_content
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.logs import get_logger
from common.memory_api.client import MemoryUnavailable
from common.memory_api.skills import SkillName
from common.text import StorableText
from model_client.exact_json import exact_json

_log = get_logger(__name__)

NAME = "Skill"

_SCHEMA = function_schema(
    NAME,
    "读一份 Skill 的正文：这类活该怎么一步步做。name 写 <available_skills> 或 <my_skills> 里的名字。"
    "先读后做：单独发这一个调用，读完正文再发别的。正文已经在对话里的不要再读。",
    {"name": {"type": "string", "description": "Skill 的名字，例如 search-discovery"}},
    ["name"],
)

_name = TypeAdapter[str](SkillName)


class _Arguments(BaseModel):
    name: StorableText


class SkillTool:
    name = NAME
    effectful = False
    schema = _SCHEMA

    def __init__(self, skills: Skills) -> None:
        self._skills = skills

    async def run(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        name = _Arguments.model_validate(dict(arguments)).name.strip()
        own = name.startswith(PREFIX)
        content = await _own_content(name.removeprefix(PREFIX), context) if own else self._content(name)
        if content is None:
            raise ToolFailed(
                f"there is no such skill; the skills are {', '.join(self._skills.names)}, and those in <my_skills>"
            )
        if context.loaded_skills.get(name) == content:
            said = exact_json({"already_loaded": name, "message": "正文已经在上面的对话里，照它做，不要再读。"})
            return ToolResult(said, note=f"{name}: already loaded")
        return ToolResult(content, note=name)

    def _content(self, name: str) -> str | None:
        skill = self._skills.get(name)
        return None if skill is None else skill_content(name, skill.body)


async def _own_content(name: str, context: ToolContext) -> str | None:
    try:
        _name.validate_python(name)
    except ValidationError:
        return None
    try:
        skill = await context.memory.read_skill(name)
    except MemoryUnavailable as error:
        _log.warning("skill.not_read", error=error)
        raise ToolFailed("the user's own skills cannot be read right now; go on without it") from error
    return None if skill is None else personal_content(name, skill.body)
