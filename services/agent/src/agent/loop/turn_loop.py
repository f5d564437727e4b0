"""One model, one loop: it thinks, its tools run, until a summary or a plain answer ends the turn.

Each round looks at the turn's log and does the one thing that comes next, so an attempt that takes over from a
killed one needs no other path: an answer that is stored is not asked for again, its open calls are run, and
effects are keyed by call id.
"""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace

from agent.compaction.compactor import Compactor
from agent.compaction.limits import estimated_tokens
from agent.context.entries import EntryFactory
from agent.context.memory_block import constraints_in
from agent.context.probe import SentRequest
from agent.context.rendering import Rendering
from agent.loop.call_records import call_on_log
from agent.loop.corrections import correction_for, text_of
from agent.loop.guards.limits import LimitReached, must_have_ended
from agent.loop.guards.order_claims import refuse_to_end
from agent.loop.hooks import HookPoint, Hooks, HookView
from agent.loop.opening import Opening
from agent.loop.refusals import refused_calls
from agent.loop.speech import AnswerSpeech
from agent.loop.turn import Outcome, Turn
from agent.loop.turn_state import TurnState, read_state
from agent.planner.plan import stored_plan
from agent.session_constraints.destination import (
    DestinationCountry,
    DestinationLayer,
    KnownFact,
    resolve_dest_country_layered,
)
from agent.skills.loaded import loaded_skills
from agent.tools import save_memory, shopping_summary
from agent.tools.item_results import items_shown_in
from agent.tools.runner import ToolRunner
from agent.tools.shopping_summary import cards_of
from agent.tools.tool import ShoppingSummary, ToolContext, ToolResult
from common.crash_points import CrashPoint, CrashPoints
from common.logs import get_logger
from common.memory_api.sessions import NewLogEntry
from common.memory_api.turns import ModelCallKind
from common.streams.progress import ProgressEvent
from model_client.answers import ArgumentsDelta, ModelAnswer, Restarted, TextDelta, ToolCall
from model_client.errors import ContextOverflow, ModelMisbehaved, ModelStreamBroken
from model_client.measured import StreamingModel
from model_client.requests import ModelRequest

_log = get_logger(__name__)


class TurnLoop:
    """Runs turns. Holds nothing of any turn."""

    def __init__(
        self,
        model: StreamingModel,
        model_name: str,
        opening: Opening,
        tools: ToolRunner,
        make: EntryFactory,
        hooks: Hooks,
        compactor: Compactor,
        crash_points: CrashPoints,
        *,
        max_steps: int,
        default_destination: str | None = None,
    ) -> None:
        self._model = model
        self._model_name = model_name
        self._opening = opening
        self._tools = tools
        self._make = make
        self._hooks = hooks
        self._compactor = compactor
        self._crash_points = crash_points
        self._max_steps = max_steps
        self._default_destination = default_destination

    async def run(self, turn: Turn) -> Outcome:
        """Work on the turn until it has an answer; its last entries are in the outcome and not stored yet.

        Raises ModelError, LimitReached, MemoryUnavailable, or ProblemError where the turn is no longer ours.
        """
        await self._opening.open(turn)
        while True:
            state = read_state(turn.entries)
            if state.open_calls:
                outcome = await self._act(turn, state)
                if outcome is not None:
                    return await self._ended(turn, outcome)
            elif state.final_text is not None:
                return await self._ended(turn, Outcome(reply=state.final_text))
            elif state.steps >= self._max_steps or must_have_ended(turn):
                raise LimitReached
            else:
                refuse_to_end(turn)
                await self._think(turn, state)

    async def _think(self, turn: Turn, state: TurnState) -> None:
        """One call of the model; its answer is stored before anything acts on it."""
        await self._compactor.make_room(turn)
        added = await self._added(HookPoint.PRE_MODEL_CALL, turn, state)
        if added:
            # Stored before it is sent: if this call fails, the next request must still extend this one.
            await turn.append(added)
        rendering = turn.rendering
        try:
            answer = await self._ask(turn, state, turn.request(self._model_name))
        except ContextOverflow:
            if not await self._compactor.make_room_after_overflow(turn):
                raise
            return
        except ModelMisbehaved as error:
            correction = correction_for(error, turn)
            if correction is None:
                raise
            await turn.append([self._make.correction(correction, text_of(correction))])
            return
        self._crash_points.reach(CrashPoint.AGENT_MODEL_ANSWERED)
        await self._keep(turn, answer, rendering)
        self._crash_points.reach(CrashPoint.AGENT_STEP_STORED)

    async def _keep(self, turn: Turn, answer: ModelAnswer, rendering: Rendering) -> None:
        call = call_on_log(turn, ModelCallKind.MAIN, self._model_name, answer, rendering)
        saves = any(each.name == save_memory.NAME for each in answer.tool_calls)
        entries = [self._make.answer(answer, bears_memory=saves)]
        if not answer.tool_calls:
            # Behind calls stand their results, so what hooks say to an answer with calls is added when these are.
            state = read_state(turn.entries_with(entries))
            corrections = await self._added(HookPoint.POST_MODEL_CALL, turn, state)
            if corrections:
                turn.progress.unsay(state.answers)
            entries += corrections
        await turn.append(entries, call)
        used = call.prompt_tokens or round(estimated_tokens(rendering, turn.sent))
        turn.tokens_used += used + (call.completion_tokens or 0)
        turn.sent = SentRequest(rendering, rendering.layer_hashes, call.prompt_tokens)
        _log.info("step.stored", call_number=call.call_number, calls=len(answer.tool_calls), ms=call.duration_ms)

    async def _ask(self, turn: Turn, state: TurnState, request: ModelRequest) -> ModelAnswer:
        step = state.answers + 1
        speech = AnswerSpeech(self._tools.is_effectful)
        async with aclosing(self._model.stream(request, give_up_at=turn.give_up_at)) as events:
            async for event in events:
                match event:
                    case TextDelta() | ArgumentsDelta():
                        turn.progress.say(step, speech.hear(event))
                    case Restarted():
                        speech = AnswerSpeech(self._tools.is_effectful)
                        turn.progress.unsay(step)
                    case ModelAnswer():
                        rest = speech.rest(event.tool_calls)
                        if rest is None:
                            turn.progress.unsay(step)
                        else:
                            turn.progress.say(step, rest)
                        return event
        raise ModelStreamBroken("no answer")

    async def _act(self, turn: Turn, state: TurnState) -> Outcome | None:
        """Run the open calls. Their results are stored, or go into the outcome where one of them ends the turn."""
        destination = await self._destination(turn)
        context = self._context(turn, destination)
        before = [
            *await self._added(HookPoint.POST_MODEL_CALL, turn, state),
            *await self._added(HookPoint.PRE_TOOL_CALL, turn, state, calls=state.open_calls),
        ]
        ran = await self._tools.run(
            state.open_calls,
            lambda call: replace(context, call_id=call.call_id),
            refused_calls(turn, state.open_calls, before),
        )
        # Facts may be newer than the turn's memory block, where an earlier attempt stored that.
        from_memory = destination.layer is DestinationLayer.MEMORY
        entries = [self._result_entry(call, result, bears_memory=from_memory) for call, result in ran]
        summary = next((result.summary for _, result in ran if result.summary is not None), None)
        if summary is not None:
            return self._conclude(turn, summary, [*entries, *before])
        if any(call.name == shopping_summary.NAME for call in state.open_calls):
            turn.progress.unsay(state.answers)  # what was told of a reply that does not stand
        after = await self._added(HookPoint.POST_TOOL_CALL, turn, state, results=ran)
        await turn.append([*entries, *before, *after])
        self._crash_points.reach(CrashPoint.AGENT_RESULTS_STORED)
        return None

    def _context(self, turn: Turn, destination: DestinationCountry) -> ToolContext:
        """What the tools of a step may know of the turn; each call has it with its own id."""
        return ToolContext(
            call_id="",
            language=turn.language,
            settings=turn.claimed.settings,
            memory=turn.memory,
            progress=turn.progress,
            loaded_skills=loaded_skills(turn.rendering.parts),
            session_constraints=turn.session_constraints,
            favourites=frozenset(turn.claimed.favourites),
            destination=destination,
            constraints=constraints_in(turn.entries),
            earlier=turn.earlier,
            entries=turn.entries,
        )

    async def _destination(self, turn: Turn) -> DestinationCountry:
        plan, known = stored_plan(turn.entries), await turn.known_facts()
        said_now = plan.destination if plan else None
        # What could not be saved stands in place of an older fact of its key, as in the memory block.
        facts: list[KnownFact] = [*known.session_facts, *known.facts]
        return resolve_dest_country_layered(said_now, turn.session_constraints, facts, self._default_destination)

    async def _added(
        self,
        point: HookPoint,
        turn: Turn,
        state: TurnState,
        *,
        calls: Sequence[ToolCall] = (),
        results: Sequence[tuple[ToolCall, ToolResult]] = (),
    ) -> list[NewLogEntry]:
        return await self._hooks.entries_at(point, HookView(turn, state, self._make, calls, results))

    async def _ended(self, turn: Turn, outcome: Outcome) -> Outcome:
        added = await self._added(HookPoint.TURN_END, turn, read_state(turn.entries))
        return replace(outcome, entries=[*outcome.entries, *added])

    def _result_entry(self, call: ToolCall, result: ToolResult, *, bears_memory: bool) -> NewLogEntry:
        return self._make.tool_result(
            call.call_id, result.content, result.memory_fact_ids, bears_memory=result.bears_memory or bears_memory
        )

    def _conclude(self, turn: Turn, summary: ShoppingSummary, entries: list[NewLogEntry]) -> Outcome:
        cards = cards_of(summary, items_shown_in(turn.entries))
        if cards:
            turn.progress.emit(ProgressEvent.ITEMS, {"items": [card.model_dump(mode="json") for card in cards]})
        return Outcome(reply=summary.reply, items=cards, entries=entries)
