"""`Skill`: reads a skill's body. It only ever adds knowledge; nothing is done."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agent.skills.catalogue import Skills
from agent.skills.loaded import skill_content
from agent.tools.tool import ToolContext, ToolFailed, ToolResult, function_schema
from common.text import StorableText
from model_client.exact_json import exact_json

NAME = "Skill"

_SCHEMA = function_schema(
    NAME,
    "读一份 Skill 的正文：这类活该怎么一步步做。name 写 <available_skills> 里的名字。"
    "先读后做：单独发这一个调用，读完正文再发别的。正文已经在对话里的不要再读。",
    {"name": {"type": "string", "description": "Skill 的名字，例如 search-discovery"}},
    ["name"],
)


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
        skill = self._skills.get(name)
        if skill is None:
            raise ToolFailed(f"there is no such skill; the skills are {', '.join(self._skills.names)}")
        if name in context.loaded_skills:
            said = exact_json({"already_loaded": name, "message": "正文已经在上面的对话里，照它做，不要再读。"})
            return ToolResult(said, note=f"{name}: already loaded")
        return ToolResult(skill_content(name, skill.body), note=name)
