"""A session with the offline model, in this process: plays the agent's part, with tools that always answer."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from offline_model.chat.requests import ChatRequest, check_tool_results
from offline_model.playing.casting import part_in
from offline_model.playing.play import Play

SKILLS = (
    "bundle-planning",
    "cross-border-duty",
    "image-shopping",
    "memory-personalization",
    "order-care",
    "purchase-research",
    "search-discovery",
)
TOOLS = ("Skill", "item_search", "recall_memories", "save_memory", "shopping_summary")
SHOPPING_TOOLS = (
    *TOOLS,
    *("item_detail", "item_picker", "knowledge_search", "landed_price", "order_lookup", "order_propose"),
)
CATALOGUE = "\n".join(["<available_skills>", *(f"- {name}: 什么时候读我" for name in SKILLS), "</available_skills>"])

Steps = list[list[tuple[str, Any]]]
"""Of a turn: for each step its calls as (tool, what was asked); last the reply as ("text", ...)."""


def _nothing(_: Play) -> Sequence[str]:
    return ()


@dataclass
class Session:
    """Keeps the messages, runs the tools, and asks for the next step."""

    tools: tuple[str, ...] = TOOLS
    catalogue: str = CATALOGUE
    results: Mapping[str, Any] = field(default_factory=dict)
    """What tools answer instead: text, what becomes JSON, or a function of the arguments."""
    reproofs: Callable[[Play], Sequence[str]] = _nothing
    """The notices and corrections that follow an answer; after them the turn goes on."""
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def __post_init__(self) -> None:
        self.messages.append({"role": "system", "content": f"你是购物助手\n{self.catalogue}"})

    def turn(self, words: str, *blocks: str, most: int = 10) -> Steps:
        """Raises AssertionError where the turn has not ended after `most` steps."""
        content = f"<turn_context>\nplatforms: all\n</turn_context>\n<user_message>\n{words}\n</user_message>"
        self.messages += [{"role": "user", "content": text} for text in (content, *blocks)]
        steps: Steps = []
        while len(steps) < most:
            play = self.asked()
            steps.append([_told(call.name, json.loads(call.arguments)) for call in play.calls] or [("text", play.text)])
            self._answer(play)
            reproofs = self.reproofs(play)
            self.messages += [{"role": "user", "content": text} for text in reproofs]
            if not reproofs and (not play.calls or play.calls[0].name == "shopping_summary"):
                return steps
        raise AssertionError(f"the turn does not end: {tools_of(steps)}")

    def asked(self, *more: dict[str, Any]) -> Play:
        tools = [{"type": "function", "function": {"name": name}} for name in self.tools]
        body = {"model": "m", "messages": [*self.messages, *more], "tools": tools}
        request = ChatRequest.model_validate(body)
        check_tool_results(request.messages)
        return part_in(request).play()

    def made(self, name: str) -> list[dict[str, Any]]:
        """The arguments of all calls of a tool so far."""
        functions = [call["function"] for message in self.messages for call in message.get("tool_calls", ())]
        return [json.loads(function["arguments"]) for function in functions if function["name"] == name]

    def _answer(self, play: Play) -> None:
        calls: list[dict[str, Any]] = []
        for call in play.calls:
            self.calls += 1
            function = {"name": call.name, "arguments": call.arguments}
            calls.append({"id": f"c{self.calls}", "type": "function", "function": function})
        self.messages.append({"role": "assistant", "content": play.text, **({"tool_calls": calls} if calls else {})})
        for made in calls:
            result = self._result(made["function"]["name"], json.loads(made["function"]["arguments"]))
            self.messages.append({"role": "tool", "tool_call_id": made["id"], "content": result})

    def _result(self, name: str, arguments: dict[str, Any]) -> str:
        usual: Callable[[dict[str, Any]], Any] = _RESULTS.get(name, _no_such_tool)
        answer = self.results.get(name, usual)
        answer = answer(arguments) if callable(answer) else answer
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def tools_of(steps: Steps) -> list[list[str]]:
    return [[name for name, _ in step] for step in steps]


def external(source: str, result: Any) -> str:
    """A result as the agent fences it."""
    body = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return f'<external_content source="{source}">\n{body}\n</external_content>'


def _told(name: str, arguments: dict[str, Any]) -> tuple[str, Any]:
    match name:
        case "item_search":
            return name, arguments["query"]
        case "Skill":
            return name, arguments["name"]
        case _:
            return name, arguments


def _skill(arguments: dict[str, Any]) -> str:
    return f'<skill_content name="{arguments["name"]}">\n先问预算，收尾前再看一遍步数\n</skill_content>'


def _found(arguments: dict[str, Any]) -> str:
    query = arguments["query"]
    items = [
        {
            "item_id": f"{query}-{n}",
            "title": f"{query} {n} 号",
            "price": f"{10 * n}.00",
            "currency": "CNY",
            "materials": ["棉"],
        }
        for n in (1, 2, 3)
    ]
    return external("item_search", {"items": items, "excluded": 0})


def _saved(_: dict[str, Any]) -> dict[str, Any]:
    return {"saved": True, "message": "记住了"}


def _shown(_: dict[str, Any]) -> dict[str, Any]:
    return {"shown": True}


def _no_such_tool(_: dict[str, Any]) -> dict[str, Any]:
    return {"error": "no such tool"}


_RESULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "Skill": _skill,
    "item_search": _found,
    "recall_memories": _saved,
    "save_memory": _saved,
    "shopping_summary": _shown,
}
