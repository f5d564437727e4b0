"""Writes the continuation summary: what a conversation must not lose when its messages go, taken from the messages.

It is in the third person and imitates no tool call. A summary that an earlier compaction wrote is taken up line by
line, so that nothing is told twice and nothing nests.
"""

from collections.abc import Iterable, Iterator, Sequence

from offline_model.chat.requests import ChatMessage, ChatRequest
from offline_model.directives import Addressee, Directive, DirectiveName, read_directives, without_directives
from offline_model.language.demands import exclusions_in, musts_in
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.money import price_bounds
from offline_model.language.reading import readable
from offline_model.playing.choosing import decisions, items_shown
from offline_model.playing.conversation import PastTurn, past_turns, said_in, turn_starts
from offline_model.playing.play import Play
from offline_model.playing.scene import SUMMARY_SIGN, Scene, read_scene

REQUEST = "compaction_request"
_WORDS_MAX = 160
_MOST = {"needs": 40, "conditions": 20, "shown": 40, "decisions": 20}
_HEADINGS = {
    "needs": "用户先后的需求 (needs)：",
    "conditions": "约束 (constraints)：",
    "shown": "展示过的商品 (shown)：",
    "decisions": "已有的决定 (decisions)：",
}
_LAST_SEARCH = "最近一次搜索 (last search)："


def is_compaction_request(request: ChatRequest) -> bool:
    newest = request.messages[-1]
    return newest.role == "user" and newest.text.lstrip().startswith(f"<{REQUEST}>")


def summary_directives(request: ChatRequest) -> tuple[Directive, ...]:
    """From the user's newest words, as for every part; the request itself holds none of them."""
    starts = turn_starts(request.messages)
    return read_directives(said_in(request.messages[starts[-1]]), Addressee.SUMMARY) if starts else ()


def play_summary(request: ChatRequest) -> Play:
    directives = summary_directives(request)
    for directive in directives:
        if directive.name is DirectiveName.TEXT:
            return Play(directive.argument)
    text = continuation_summary(request.messages[:-1], read_scene(request))
    malformed = any(directive.name is DirectiveName.MALFORMED for directive in directives)
    return Play(text if malformed else f"<summary>\n{text}\n</summary>")


def continuation_summary(messages: Sequence[ChatMessage], scene: Scene) -> str:
    turns = list(past_turns(messages))
    told = {
        "needs": [_needed(turn) for turn in turns],
        "conditions": [*(_conditions(turns)), *(fact.value for fact in scene.facts if fact.is_constraint)],
        "shown": [item for turn in turns for item in items_shown(turn)],
        "decisions": decisions(turns),
    }
    before = _earlier_sections(scene.summary)
    lines = [SUMMARY_SIGN]
    for section, heading in _HEADINGS.items():
        items = list(dict.fromkeys(item for item in [*before[section], *told[section]] if item))[-_MOST[section] :]
        lines += [heading, *(f"- {item}" for item in items)] if items else []
    searched = _last_query(turns) or _earlier_query(scene.summary)
    return "\n".join([*lines, *([_LAST_SEARCH + searched] if searched else [])])


def _needed(turn: PastTurn) -> str:
    words = " ".join(readable(without_directives(turn.said)).split())[:_WORDS_MAX]
    return in_language(is_chinese(words), f"用户说：{words}", f"The user said: {words}") if words else ""


def _conditions(turns: Iterable[PastTurn]) -> Iterator[str]:
    for turn in turns:
        words = readable(without_directives(turn.said))
        chinese = is_chinese(words)
        for name in exclusions_in(words):
            yield in_language(chinese, f"不要{name}", f"no {name}")
        for name in musts_in(words):
            yield in_language(chinese, f"必须{name}", f"must be {name}")
        bounds = price_bounds(words)
        if bounds.maximum is not None:
            yield in_language(chinese, "预算最多 ", "budget up to ") + f"{bounds.maximum} {bounds.currency}"


def _last_query(turns: Sequence[PastTurn]) -> str:
    calls = [made for turn in turns for made in turn.made if made.name == "item_search" and made.arguments]
    return str((calls[-1].arguments or {}).get("query", "")) if calls else ""


def _earlier_sections(summary: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {section: [] for section in _HEADINGS}
    current: list[str] | None = None
    for line in summary.splitlines():
        section = next((name for name, heading in _HEADINGS.items() if line == heading), None)
        if section is not None:
            current = sections[section]
        elif line.startswith("- ") and current is not None:
            current.append(line.removeprefix("- "))
        else:
            current = None
    return sections


def _earlier_query(summary: str) -> str:
    lines = [line for line in summary.splitlines() if line.startswith(_LAST_SEARCH)]
    return lines[-1].removeprefix(_LAST_SEARCH) if lines else ""
