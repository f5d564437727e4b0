"""Plays the planner. The agent has none yet: when it comes, the rules that fill its plan go here."""

from offline_model.chat.requests import ChatRequest
from offline_model.playing.play import Play
from offline_model.playing.structured import play_structured


def play_planner(request: ChatRequest) -> Play:
    """A plan that says nothing and satisfies its schema."""
    return play_structured(request)
