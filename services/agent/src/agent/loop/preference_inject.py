"""L5: the block of long-term memory goes in before the first main call of every turn, whatever the planner did."""

from agent.context.memory_block import render_memory_block, select_tier_one_facts
from agent.loop.hooks import Hook, HookPoint, HookView
from common.memory_api.sessions import Layer, NewLogEntry


async def _add(view: HookView) -> list[NewLogEntry]:
    """The block, or nothing where there are no facts and no earlier block that must stop to count."""
    if view.state.has_memory_block or view.state.steps > 0:
        return []
    known = await view.turn.known_facts()
    facts = select_tier_one_facts(known.facts)
    shown_before = any(entry.layer is Layer.L5 for entry in view.turn.log)
    if not facts and not known.session_facts and not shown_before:
        return []
    block = render_memory_block(facts, known.session_facts)
    return [view.make.memory_block(block, [fact.fact_id for fact in facts])]


preference_inject = Hook("preference_inject", HookPoint.POST_TOOL_CALL, 50, _add)
