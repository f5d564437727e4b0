"""Tier 2: asking for a summary, and reading it. The request for it is the main one with an instruction at its end."""

from importlib.resources import files

from agent.context.fences import inside, neutralise
from model_client.exact_json import exact_json

_SHORTEST = 40
"""Characters; less than this cannot carry a conversation on."""


def compaction_request() -> str:
    """The message that asks for the summary, as exact JSON text. It begins with `<compaction_request>`."""
    text = files("agent.compaction").joinpath("instructions.md").read_text(encoding="utf-8")
    content = f"<compaction_request>\n{text.strip()}\n</compaction_request>"
    return exact_json({"role": "user", "content": content})


def read_summary(answer: str) -> str | None:
    """The summary in an answer; None where it is missing, not closed or too short to be one."""
    text = inside(answer, "summary")
    return text if text is not None and len(text.strip()) >= _SHORTEST else None


def summary_content(summary: str) -> str:
    """What stands in the conversation for everything before it."""
    heading = "以下是系统对此前对话的摘要，代替更早的原文；与后面的原文不一致时以原文为准。"
    return f"<session_summary>\n{heading}\n{neutralise(summary.strip())}\n</session_summary>"
