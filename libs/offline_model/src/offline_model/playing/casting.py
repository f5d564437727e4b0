"""Who is asked: the main model, planner, curator, or who writes the summary; told by the form of the request."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from offline_model.chat.requests import ChatRequest
from offline_model.directives import Directive
from offline_model.playing.curator import curator_directives, play_curator
from offline_model.playing.main import play_main
from offline_model.playing.planner import planner_directives, play_planner
from offline_model.playing.play import Play
from offline_model.playing.scene import read_scene
from offline_model.playing.structured import play_structured
from offline_model.playing.summarising import is_compaction_request, play_summary, summary_directives


@dataclass(frozen=True)
class Part:
    name: str
    play: Callable[[], Play]
    directives: tuple[Directive, ...] = ()
    saw_malformed_arguments: bool = False
    """The turn already has a call with unreadable arguments: a model told so does better the next time."""


def part_in(request: ChatRequest) -> Part:
    """Side calls see the user's words as well, but a directive is obeyed only by the one it is meant for."""
    if request.offline_answer is not None or request.token_limit == 1:
        return Part("unplayed", Play)
    if is_compaction_request(request):
        return Part("summary", partial(play_summary, request), summary_directives(request))
    if request.response_format is None or request.response_format.type == "text":
        scene = read_scene(request)
        malformed = any(made.arguments is None for made in scene.made)
        return Part("main", partial(play_main, scene), scene.directives, malformed)
    match request.schema_name:
        case "curated_facts":
            return Part("curator", partial(play_curator, request), curator_directives(request))
        case "turn_plan":
            return Part("planner", partial(play_planner, request), planner_directives(request))
        case _:
            return Part("structured", partial(play_structured, request))
