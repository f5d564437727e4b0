"""The opening of a turn: blocks for this turn (L2), the user's message (L4), the plan, the memory block (L5)."""

from collections.abc import Sequence

from agent.context.entries import EntryFactory
from agent.context.turn_blocks import TurnBlockSource
from agent.context.user_block import render_user_block
from agent.loop.call_records import side_call
from agent.loop.hooks import HookPoint, Hooks, HookView
from agent.loop.turn import Turn
from agent.loop.turn_state import TurnState, read_state
from agent.planner.plan import TurnPlan, render_plan
from agent.planner.planner import Planner, Planning
from agent.planner.wishes import wishes_of
from agent.session_constraints.constraints import SessionConstraints
from agent.session_constraints.merging import merge_pt_lite
from common.memory_api.sessions import NewLogEntry
from common.memory_api.turns import ModelCall, ModelCallKind
from common.streams.progress import ProgressEvent


class Opening:
    def __init__(self, planner: Planner, blocks: Sequence[TurnBlockSource], hooks: Hooks, make: EntryFactory) -> None:
        self._planner = planner
        self._blocks = blocks
        self._hooks = hooks
        self._make = make

    async def open(self, turn: Turn) -> None:
        """Store what the opening still lacks, all at once. What an earlier attempt stored stays as it was sent.

        The hooks after the planner run whatever it did: the memory block must not depend on it, and facts are read
        after it.
        """
        state = read_state(turn.entries)
        opening: list[NewLogEntry] = []
        model_call: ModelCall | None = None
        if not state.has_user_message:
            opening += [*self._turn_blocks(turn), user_message(turn, self._make)]
        if _lacks_plan(state):
            planning = await self._planner.plan(
                turn.claimed.text, turn.earlier, turn.session_constraints, give_up_at=turn.give_up_at
            )
            model_call = await self._keep_cost(turn, planning)
            if planning.plan is not None:
                opening.append(self._planned(turn, planning.plan))
        if state.steps == 0:
            opening += await self._hooks.entries_at(HookPoint.POST_TOOL_CALL, HookView(turn, state, self._make))
        if opening or model_call is not None:
            await turn.append(opening, model_call)

    def _turn_blocks(self, turn: Turn) -> list[NewLogEntry]:
        blocks = (source.block(turn.claimed, turn.earlier) for source in self._blocks)
        # An order card may name a destination out of memory.
        bears_memory = bool(turn.claimed.orders)
        return [self._make.turn_block(block, bears_memory=bears_memory) for block in blocks if block is not None]

    def _planned(self, turn: Turn, plan: TurnPlan) -> NewLogEntry:
        """The plan's entry. P_t goes into the log with it, and with the turn's end into the session."""
        before, settings = turn.session_constraints, turn.claimed.settings
        merged = merge_pt_lite(before, wishes_of(plan, before, settings.currency), turn.claimed.text)
        turn.progress.emit(ProgressEvent.PLAN, _shown(plan, merged))
        return self._make.plan(render_plan(plan, merged))

    async def _keep_cost(self, turn: Turn, planning: Planning) -> ModelCall | None:
        """The cost of the last answer is stored with the opening's entries, that of one before it at once."""
        call: ModelCall | None = None
        for answer in planning.answers:
            if call is not None:
                await turn.append([], call)
            call = side_call(turn, ModelCallKind.PLANNER, self._planner.model_name, answer)
        return call


def user_message(turn: Turn, make: EntryFactory) -> NewLogEntry:
    claimed = turn.claimed
    content = render_user_block(claimed.text, claimed.settings.platforms, claimed.behaviour)
    # The behaviour history holds searches that the model wrote, perhaps out of memory.
    return make.user_message(content, bears_memory=bool(claimed.behaviour))


def _lacks_plan(state: TurnState) -> bool:
    """Nothing is planned anew once the model has begun to act, or has been shown the memory that follows the plan."""
    return not state.has_plan and not state.has_memory_block and state.steps == 0


def _shown(plan: TurnPlan, constraints: SessionConstraints) -> dict[str, object]:
    """The data of the `plan` event."""
    return {**plan.model_dump(mode="json", exclude={"missing"}), "session_constraints": constraints.shown()}
