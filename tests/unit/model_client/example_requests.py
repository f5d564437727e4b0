"""Requests that use everything a profile may render differently, and the golden bytes of each profile.

`python -m tests.unit.model_client.example_requests` writes the golden files of profiles that have none yet; a file that
exists stays, and a profile that is meant to render otherwise from now on gets its file deleted first.
"""

from collections.abc import Iterable
from pathlib import Path

from model_client.answers import ToolCall, assistant_payload
from model_client.exact_json import exact_json
from model_client.profiles import PROFILES, ProviderProfile
from model_client.requests import ModelRequest

GOLDEN = Path(__file__).parent / "golden_requests"

LONG_TEXT = "你是跨境购物助手。You help people who buy across borders. " * 420
"""Above every provider's minimum; one word stands for it in the golden files."""
_LONG_TEXT_IN_FILES = "LONG-TEXT"

TOOLS = exact_json(
    [{"type": "function", "function": {"name": "item_search", "parameters": {"type": "object", "properties": {}}}}]
)
_FORMAT = {"type": "json_schema", "json_schema": {"name": "facts", "schema": {"type": "object"}}}


def example_requests(profile: ProviderProfile) -> list[ModelRequest]:
    return [_main_call(profile), _side_call(), _forced_call()]


def _main_call(profile: ProviderProfile) -> ModelRequest:
    """Two turns; the last one has just run two calls at once."""
    calls = tuple(ToolCall(f"call_{number}", "item_search", '{ "query": "包"}') for number in (1, 2, 3))
    reasoning = "先搜索。"
    return ModelRequest(
        model="main",
        messages=(
            exact_json({"role": "system", "content": LONG_TEXT}),
            exact_json({"role": "user", "content": '"包" \\ bag\n'}),
            exact_json({"role": profile.memory_role, "content": "<user_long_term_memory>…</user_long_term_memory>"}),
            assistant_payload("", calls[:1], reasoning, profile.reasoning_field),
            exact_json({"role": "tool", "tool_call_id": "call_1", "content": "[]"}),
            assistant_payload("没有找到。", (), reasoning, profile.reasoning_field),
            exact_json({"role": "user", "content": "再找"}),
            assistant_payload("好", calls[1:], reasoning, profile.reasoning_field),
            exact_json({"role": "tool", "tool_call_id": "call_2", "content": "[2]"}),
            exact_json({"role": "tool", "tool_call_id": "call_3", "content": "[3]"}),
        ),
        tools=TOOLS,
        thinking=True,
        max_tokens=2_000,
        cache_key="session-1",
    )


def _side_call() -> ModelRequest:
    messages = ('{"role":"system","content":"Answer in JSON."}', '{"role":"user","content":"hi"}')
    return ModelRequest(
        model="fast", messages=messages, options={"response_format": _FORMAT, "temperature": 0}, thinking=False
    )


def _forced_call() -> ModelRequest:
    messages = ('{"role":"system","content":"Call."}', '{"role":"user","content":"hi"}')
    return ModelRequest(model="main", messages=messages, tools=TOOLS, options={"tool_choice": "required"})


def rendered(profile: ProviderProfile) -> str:
    """One line per request."""
    bodies = (request.body(profile).decode() for request in example_requests(profile))
    return "".join(body.replace(LONG_TEXT, _LONG_TEXT_IN_FILES) + "\n" for body in bodies)


def golden_file(profile: str) -> Path:
    return GOLDEN / f"{profile}.jsonl"


def write_missing(profiles: Iterable[ProviderProfile]) -> None:
    for profile in profiles:
        if not golden_file(profile.name).exists():
            golden_file(profile.name).write_text(rendered(profile), encoding="utf-8")


if __name__ == "__main__":
    write_missing(PROFILES.values())
