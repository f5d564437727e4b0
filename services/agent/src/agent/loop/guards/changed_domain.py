"""Search after search when the domain changed in mid-turn: what was asked for has results, and the model goes on
elsewhere."""

from collections.abc import Sequence

from agent.catalogue.domains import DOMAINS
from agent.loop.corrections import Correction, correcting
from agent.loop.guards.steps import RanCall, Step, steps_with_results
from agent.loop.hooks import HookPoint, HookView
from agent.planner.plan import Intent, TurnPlan, stored_plan
from agent.tools import item_search
from agent.tools.item_results import read_items

_TEXT = (
    "本轮找的是{home}，前面的搜索已经有结果，刚才却换到了{other}。用户没有要求换品类，就不要再往那边搜："
    "回到{home}，或者用手上的结果作答；确实需要换，在答复里说明原因。"
)


def left_domain(plan: TurnPlan | None, steps: Sequence[Step]) -> str | None:
    """The domain that the last step searched though the turn is about another one, which has results."""
    if plan is None or plan.domain is None or plan.intent is Intent.BUNDLE or not steps:
        return None
    *earlier, now = steps
    before = [call for step in earlier for call in _searches(step)]
    if not any(read_items(call.result) for call in before):
        return None
    known = {plan.domain, *(call.arguments.get("domain") for call in before)}
    new = [domain for call in _searches(now) if (domain := call.arguments.get("domain")) not in known]
    return next((domain for domain in new if domain in DOMAINS), None)


def _searches(step: Step) -> list[RanCall]:
    return [call for call in step if call.call.name == item_search.NAME]


def _text_for(view: HookView) -> str | None:
    plan = stored_plan(view.turn.entries)
    other = left_domain(plan, steps_with_results(view))
    if plan is None or plan.domain is None or other is None:
        return None
    return _TEXT.format(home=DOMAINS[plan.domain].name_zh, other=DOMAINS[other].name_zh)


changed_domain = correcting(Correction.CHANGED_DOMAIN, HookPoint.POST_TOOL_CALL, 62, _text_for)
