"""Plays the main model: reads the turn, and decides the next step by rules tried in order."""

from collections.abc import Callable

from offline_model.directives import DirectiveName
from offline_model.language.intents import intent_of
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.missing import Missing, missing_in
from offline_model.language.wishes import Wishes, wishes_in
from offline_model.playing.asking import question
from offline_model.playing.choosing import choose, recapitulate
from offline_model.playing.consulting import look_into_guides, pick_again, tell_about_item
from offline_model.playing.conversation import MadeCall
from offline_model.playing.misconduct import claim_to_have_confirmed, obey_what_was_found, stray_from_the_search
from offline_model.playing.ordering import leave_the_card_to_the_user, look_up_orders, propose_order
from offline_model.playing.play import Play, PlayedCall, call
from offline_model.playing.pricing import price_at_the_door
from offline_model.playing.recommending import recommendation, summary
from offline_model.playing.remembering import explain_forgetting, save, tell_what_is_known
from offline_model.playing.scene import Scene
from offline_model.playing.searching import SearchPlan, search_plan
from offline_model.playing.shown import Item, items_or_none
from offline_model.playing.skills import read_skill
from offline_model.playing.straying import strays
from offline_model.playing.talking import explain_what_is_not_done, talk

_MAX_SEARCHES = 3
"""Of a turn that needs one; each further query may be sent once more as well."""
_UNKNOWN_TOOL = "product_search"

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
    for name in scene.directed(DirectiveName.BAD_TOOL):
        if not scene.results_of(name or _UNKNOWN_TOOL):
            return Play(calls=(call(name or _UNKNOWN_TOOL, query=scene.words),))
    for text in scene.directed(DirectiveName.TEXT):
        return Play(text)
    if scene.directed(DirectiveName.ECHO_CONTEXT):
        return Play(scene.memory_block if scene.memory_block is not None else "(no memory block)")
    if strays(scene, DirectiveName.LOOP):
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


def _ask_what_is_missing(scene: Scene, wishes: Wishes) -> Play | None:
    """Only for what is missing from the words and cannot be in the session either."""
    missing = missing_in(scene.words, wishes, intent_of(scene.words, wishes))
    asked = next((each for each in missing if each in (Missing.BUDGET, Missing.RECIPIENT)), None)
    return question(scene.words, asked) if asked and "item_search" in scene.tools else None


def _search(scene: Scene, wishes: Wishes) -> Play | None:
    """The next step of the searches: one that got no answer at all is tried again."""
    plan = search_plan(scene, wishes)
    if plan is None or "item_search" not in scene.tools or scene.told_to_wrap_up:
        return None
    made = scene.results_of("item_search")
    answered = len({search.step for search in made if items_or_none(search) is not None})
    if answered and _ignored_what_to_exclude(scene, plan, made):
        return Play(calls=tuple(plan.calls(0)))
    if answered >= len(plan.steps) or len(made) >= _MAX_SEARCHES + len(plan.queries) - 1:
        return None
    return Play(calls=tuple(plan.calls(answered)))


def _ignored_what_to_exclude(scene: Scene, plan: SearchPlan, made: list[MadeCall]) -> bool:
    """The results of careless searches are of no use once the model is told better."""
    mended = any((search.arguments or {}).get("exclude") for search in made)
    return bool(scene.directed(DirectiveName.IGNORE_CONSTRAINT) and plan.exclude) and not mended


def _recommend(scene: Scene, wishes: Wishes) -> Play | None:
    plan = search_plan(scene, wishes)
    if plan is None:
        return None
    results = _results(scene, plan)
    if not results:
        return Play(
            in_language(
                is_chinese(scene.words),
                "抱歉，商品搜索现在没有结果，请稍后再试。",
                "Sorry, the product search gives no result at the moment. Please try again later.",
            )
        )
    return summary(scene, recommendation(scene, plan, results))


def _results(scene: Scene, plan: SearchPlan) -> list[list[Item]]:
    """What the plan's searches returned, each query's once; what was searched besides is not what was asked for."""
    answered = {
        str((made.arguments or {}).get("query")): items
        for made in scene.results_of("item_search")
        if (items := items_or_none(made)) is not None
    }
    return [answered[query] for query in plan.queries if query in answered] or list(answered.values())


_RULES: tuple[_Rule, ...] = (
    _as_directed,
    read_skill,
    save,
    stray_from_the_search,
    obey_what_was_found,
    claim_to_have_confirmed,
    tell_what_is_known,
    explain_forgetting,
    recapitulate,
    leave_the_card_to_the_user,
    look_up_orders,
    propose_order,
    _ask_what_is_missing,
    price_at_the_door,
    tell_about_item,
    pick_again,
    look_into_guides,
    choose,
    explain_what_is_not_done,
    _search,
    _recommend,
    talk,
)
