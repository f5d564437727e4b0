"""The opening of a turn: the user's message (L4), the planner's place, and the memory block (L5)."""

from agent.context.entries import EntryFactory
from agent.context.memory_block import render_memory_block, select_tier_one_facts
from agent.context.user_block import render_user_block
from agent.loop.turn import Turn
from agent.loop.turn_state import read_state
from common.memory_api.sessions import Layer, NewLogEntry


async def open_turn(turn: Turn, make: EntryFactory) -> None:
    """Store what the opening still lacks. What an earlier attempt stored stays as it was sent.

    The planner will stand between the two blocks: facts are read after it, and the memory block goes in before
    the first main call whatever the planner did.
    """
    state = read_state(turn.entries)
    opening: list[NewLogEntry] = []
    if not state.has_user_message:
        opening.append(user_message(turn, make))
    if not state.has_memory_block and state.steps == 0:
        opening.extend(await _memory_block(turn, make))
    if opening:
        await turn.append(opening)


def user_message(turn: Turn, make: EntryFactory) -> NewLogEntry:
    claimed = turn.claimed
    content = render_user_block(claimed.text, claimed.settings.platforms, claimed.behaviour)
    # The behaviour history holds searches that the model wrote, perhaps out of memory.
    return make.user_message(content, bears_memory=bool(claimed.behaviour))


async def _memory_block(turn: Turn, make: EntryFactory) -> list[NewLogEntry]:
    """The block, or nothing where there are no facts and no earlier block that must stop to count."""
    facts = select_tier_one_facts(await turn.memory.read_facts())
    shown_before = any(entry.layer is Layer.L5 for entry in turn.log)
    if not facts and not shown_before:
        return []
    return [make.memory_block(render_memory_block(facts), [fact.fact_id for fact in facts])]
