"""A skill skipped: the intent table asks for one, and the model has begun to act without it. A reminder, never a
block: the work that was done stays."""

from collections.abc import Collection

from agent.loop.corrections import Correction, correcting
from agent.loop.guards.steps import Step, steps_with_results
from agent.loop.hooks import HookPoint, HookView
from agent.planner.plan import Intent, TurnPlan, stored_plan
from agent.skills.loaded import loaded_skills
from agent.tools import recall_memories, save_memory, shopping_summary, skill

SKILL_OF_INTENT = {
    Intent.PRODUCT_SEARCH: "search-discovery",
    Intent.PURCHASE_RESEARCH: "purchase-research",
    Intent.BUNDLE: "bundle-planning",
    Intent.ORDER_CARE: "order-care",
    Intent.DEVICE_FAULT: "order-care",
    Intent.ACCESSORY: "search-discovery",
    Intent.MEMORY: "memory-personalization",
    Intent.IMAGE_SEARCH: "image-shopping",
    Intent.LANDED_PRICE: "cross-border-duty",
}
"""The intent table of the system prompt, as far as a plan can tell its rows."""

_NOT_ACTING = frozenset({save_memory.NAME, recall_memories.NAME, shopping_summary.NAME})
_CONDITIONS = 2
"""A search for one named product needs no skill; a plan with so many conditions is not that."""

_TEXT = (
    "按意图分流表，这类需求先读 Skill「{name}」再动手，这一轮跳过了。下一步单独读它，然后照正文继续；"
    "已经得到的结果可以接着用，不用重来。"
)


def skill_to_read(plan: TurnPlan | None) -> str | None:
    """What the intent table asks for."""
    if plan is None or (plan.intent is Intent.PRODUCT_SEARCH and not _is_open(plan)):
        return None
    return SKILL_OF_INTENT.get(plan.intent)


def was_skipped(name: str | None, loaded: Collection[str], steps: list[Step]) -> bool:
    """Whether the turn's first step acted without it."""
    if name is None or name in loaded or len(steps) != 1:
        return False
    names = {call.call.name for call in steps[0]}
    return skill.NAME not in names and bool(names - _NOT_ACTING)


def _is_open(plan: TurnPlan) -> bool:
    conditions = len(plan.must) + len(plan.exclude) + len(plan.penalty) + (plan.budget is not None)
    return plan.gift or conditions >= _CONDITIONS


def _text_for(view: HookView) -> str | None:
    name = skill_to_read(stored_plan(view.turn.entries))
    skipped = was_skipped(name, loaded_skills(view.turn.rendering.parts), steps_with_results(view))
    return _TEXT.format(name=name) if skipped else None


skipped_skill = correcting(Correction.SKIPPED_SKILL, HookPoint.POST_TOOL_CALL, 63, _text_for)
