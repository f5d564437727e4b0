"""Writes the continuation summary: what a conversation must not lose when its messages go, taken from the messages.

It is in the third person and imitates no tool call. A summary that an earlier compaction wrote is taken up line by
line, so that nothing is told twice and nothing nests.
"""

from collections.abc import Iterable, Iterator, Sequence

from offline_model.chat.requests import ChatRequest
from offline_model.directives import Addressee, Directive, DirectiveName, read_directives, without_directives
from offline_model.language.demands import musts_in
from offline_model.language.exclusions import exclusions_in
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.money import price_bounds
from offline_model.language.reading import readable
from offline_model.playing.choosing import decisions
from offline_model.playing.conversation import PastTurn, past_turns, said_in, turn_starts
from offline_model.playing.play import Play
from offline_model.playing.scene import read_scene
from offline_model.playing.shown import items_shown, told
from offline_model.playing.summaries import Section, last_search_of, section_of, summary_text

_REQUEST = "<compaction_request>"
_WORDS_MAX = 160
_MOST = {Section.NEEDS: 40, Section.CONDITIONS: 20, Section.SHOWN: 40, Section.DECISIONS: 20}
"""Lines per section; of more, the newest stay."""


def is_compaction_request(request: ChatRequest) -> bool:
    newest = request.messages[-1]
    return newest.role == "user" and newest.text.lstrip().startswith(_REQUEST)


def summary_directives(request: ChatRequest) -> tuple[Directive, ...]:
    """From the user's newest words, as for every part; the request itself holds none of them."""
    starts = turn_starts(request.messages)
    return read_directives(said_in(request.messages[starts[-1]]), Addressee.SUMMARY) if starts else ()


def play_summary(request: ChatRequest) -> Play:
    directives = summary_directives(request)
    for directive in directives:
        if directive.name is DirectiveName.TEXT:
            return Play(directive.argument)
    text = continuation_summary(request)
    malformed = any(directive.name is DirectiveName.MALFORMED for directive in directives)
    return Play(text if malformed else f"<summary>\n{text}\n</summary>")


def continuation_summary(request: ChatRequest) -> str:
    turns = list(past_turns(request.messages[:-1]))
    scene = read_scene(request)
    new = {
        Section.NEEDS: [_needed(turn) for turn in turns],
        Section.CONDITIONS: [*_conditions(turns), *(fact.value for fact in scene.facts if fact.is_constraint)],
        Section.SHOWN: [told(item) for turn in turns for item in items_shown(turn)],
        Section.DECISIONS: decisions(turns),
    }
    sections = {section: _newest([*section_of(scene.summary, section), *new[section]], section) for section in Section}
    return summary_text(sections, _last_query(turns) or last_search_of(scene.summary))


def _newest(lines: list[str], section: Section) -> list[str]:
    return list(dict.fromkeys(line for line in lines if line))[-_MOST[section] :]


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
