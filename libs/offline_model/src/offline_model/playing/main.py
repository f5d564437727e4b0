"""Plays the main model: reads the turn, and decides the next step by rules tried in order."""

from collections.abc import Callable

from offline_model.directives import DirectiveName
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.statements import statements_in
from offline_model.language.wishes import Wishes, bare_phrase, wishes_in
from offline_model.playing.play import Play, PlayedCall, call
from offline_model.playing.recommending import recommendation
from offline_model.playing.remembering import explain_forgetting, save, tell_what_is_known, with_receipts
from offline_model.playing.scene import MadeCall, Scene
from offline_model.playing.searching import SearchPlan, search_plan
from offline_model.playing.talking import talk

_MAX_SEARCHES = 3

_Rule = Callable[[Scene, Wishes], Play | None]


def play_main(scene: Scene) -> Play:
    wishes = wishes_in(scene.words)
    return next(play for rule in _RULES if (play := rule(scene, wishes)) is not None)


def _as_directed(scene: Scene, wishes: Wishes) -> Play | None:
    saves = [_directed_save(argument) for argument in scene.directed(DirectiveName.SAVE)]
    if saves and not scene.results_of("save_memory"):
        return Play(calls=tuple(saves))
    directed = [_directed_call(argument) for argument in scene.directed(DirectiveName.CALL)]
    to_make = [each for each in directed if not scene.results_of(each.name)]
    if to_make:
        return Play(calls=(to_make[0],))
    for text in scene.directed(DirectiveName.TEXT):
        return Play(text)
    if scene.directed(DirectiveName.ECHO_CONTEXT):
        return Play(scene.memory_block if scene.memory_block is not None else "(no memory block)")
    if scene.directed(DirectiveName.LOOP):
        query = " ".join([*wishes.queries[:1], str(len(scene.results_of("item_search")) + 1)])
        return Play(calls=(call("item_search", query=query),))
    return None


def _directed_save(argument: str) -> PlayedCall:
    key, value, category, *_ = [*argument.split("|"), "", ""]
    return call("save_memory", key=key, value=value, category=category or "preference")


def _directed_call(argument: str) -> PlayedCall:
    """`TOOL|ARGUMENTS`, the arguments as JSON."""
    name, _, arguments = argument.partition("|")
    return PlayedCall(name, arguments or "{}")


def _search(scene: Scene, wishes: Wishes) -> Play | None:
    plan = _plan(scene, wishes)
    made = scene.results_of("item_search")
    answered = [search for search in made if _items_or_none(search) is not None]
    if plan is None or answered or len(made) >= _MAX_SEARCHES or scene.told_to_wrap_up:
        return None
    if "item_search" not in scene.tools:
        return None
    return Play(calls=tuple(plan.calls()))


def _recommend(scene: Scene, wishes: Wishes) -> Play | None:
    plan = _plan(scene, wishes)
    if plan is None:
        return None
    results = [data for search in scene.results_of("item_search") if (data := _items_or_none(search)) is not None]
    if not results:
        return Play(
            in_language(
                is_chinese(scene.words),
                "抱歉，商品搜索现在没有结果，请稍后再试。",
                "Sorry, the product search gives no result at the moment. Please try again later.",
            )
        )
    recommended = recommendation(scene, plan, results)
    if not recommended.items or "shopping_summary" not in scene.tools or scene.results_of("shopping_summary"):
        return Play(with_receipts(scene, recommended.reply))
    reply = with_receipts(scene, recommended.reply)
    return Play(calls=(call("shopping_summary", reply=reply, items=recommended.items),))


def _plan(scene: Scene, wishes: Wishes) -> SearchPlan | None:
    """What to look for in this turn, if anything."""
    if wishes.small_talk is not None and not wishes.queries:
        return None
    queries = list(wishes.queries)
    nothing_else = not (statements_in(scene.words) or wishes.to_remember)
    if not queries and not wishes.refines and nothing_else:
        phrase = bare_phrase(scene.words)
        queries = [phrase] if phrase else []
    return search_plan(scene, queries, wishes.refines)


def _items_or_none(search: MadeCall) -> "list[dict[str, object]] | None":
    data = search.result_data
    items = data.get("items") if isinstance(data, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else None


_RULES: tuple[_Rule, ...] = (
    _as_directed,
    save,
    tell_what_is_known,
    explain_forgetting,
    _search,
    _recommend,
    talk,
)
