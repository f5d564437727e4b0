"""One model, one loop: it thinks, its tools run, until a summary or a plain answer ends the turn.

Each round looks at the turn's log and does the one thing that comes next, so an attempt that takes over from a
killed one needs no other path: an answer that is stored is not asked for again, its open calls are run, and
effects are keyed by call id.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from agent.context.entries import EntryFactory
from agent.context.rendering import (
    LayeredTexts,
    first_differing_layer,
    layer_hashes,
    layered_texts,
    render_request,
)
from agent.loop.hooks import HookPoint, Hooks, HookView
from agent.loop.opening import open_turn
from agent.loop.speech import AnswerSpeech
from agent.loop.step_limit import StepLimitReached
from agent.loop.turn import Outcome, Turn
from agent.loop.turn_state import TurnState, offered_items, read_state
from agent.tools import save_memory
from agent.tools.runner import ToolRunner
from agent.tools.shopping_summary import cards_of
from agent.tools.tool import ShoppingSummary, ToolContext, ToolResult
from common.crash_points import CrashPoint, CrashPoints
from common.logs import get_logger
from common.memory_api.sessions import NewLogEntry
from common.memory_api.turns import ModelCall, ModelCallKind
from common.streams.progress import ProgressEvent
from model_client.answers import ArgumentsDelta, ModelAnswer, ModelEvent, Restarted, TextDelta, ToolCall
from model_client.errors import ModelStreamBroken
from model_client.exact_json import label
from model_client.requests import ModelRequest

_log = get_logger(__name__)


class ChatModel(Protocol):
    def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]: ...


class TurnLoop:
    """Runs turns. Holds nothing of any turn."""

    def __init__(
        self,
        model: ChatModel,
        model_name: str,
        tools: ToolRunner,
        make: EntryFactory,
        hooks: Hooks,
        crash_points: CrashPoints,
        *,
        max_steps: int,
    ) -> None:
        self._model = model
        self._model_name = model_name
        self._tools = tools
        self._make = make
        self._hooks = hooks
        self._crash_points = crash_points
        self._max_steps = max_steps

    async def run(self, turn: Turn) -> Outcome:
        """Work on the turn until it has an answer; its last entries are in the outcome and not stored yet.

        Raises ModelError, StepLimitReached, MemoryUnavailable, or ProblemError where the turn is no longer ours.
        """
        await open_turn(turn, self._make)
        previous: LayeredTexts | None = None
        while True:
            state = read_state(turn.entries)
            if state.open_calls:
                outcome = await self._act(turn, state.open_calls)
                if outcome is not None:
                    return outcome
            elif state.final_text is not None:
                return Outcome(reply=state.final_text)
            elif state.steps >= self._max_steps:
                raise StepLimitReached
            else:
                previous = await self._think(turn, state, previous)

    async def _think(self, turn: Turn, state: TurnState, previous: LayeredTexts | None) -> LayeredTexts:
        """One call of the model; its answer is stored before anything acts on it."""
        added = self._hooks.entries_at(HookPoint.PRE_MODEL_CALL, HookView(turn.entries, state, self._make))
        log = turn.with_pending(added)
        texts = layered_texts(log, turn.release)
        request = render_request(log, turn.release, self._model_name, turn.call_ids)
        answer = await self._ask(turn, request)
        self._crash_points.reach(CrashPoint.AGENT_MODEL_ANSWERED)
        saves = any(call.name == save_memory.NAME for call in answer.tool_calls)
        call = ModelCall(
            call_number=turn.model_calls + 1,
            kind=ModelCallKind.MAIN,
            attempt=turn.claimed.attempt,
            model=label(self._model_name),
            prompt_tokens=answer.usage.prompt_tokens,
            cached_tokens=answer.usage.cached_tokens,
            completion_tokens=answer.usage.completion_tokens,
            time_to_first_token_ms=answer.time_to_first_token_ms,
            duration_ms=answer.duration_ms,
            finish_reason=label(answer.finish_reason),
            layer_hashes=layer_hashes(texts),
            first_differing_layer=first_differing_layer(previous, texts),
        )
        await turn.append([*added, self._make.answer(answer, bears_memory=saves)], call)
        self._crash_points.reach(CrashPoint.AGENT_STEP_STORED)
        _log.info("step.stored", call_number=call.call_number, calls=len(answer.tool_calls), ms=call.duration_ms)
        return texts

    async def _ask(self, turn: Turn, request: ModelRequest) -> ModelAnswer:
        step = turn.model_calls + 1
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

    async def _act(self, turn: Turn, calls: Sequence[ToolCall]) -> Outcome | None:
        """Run the calls. Their results are stored, or go into the outcome where one of them ends the turn."""

        def context_of(call: ToolCall) -> ToolContext:
            return ToolContext(call.call_id, turn.language, turn.claimed.settings, turn.memory, turn.progress)

        ran = await self._tools.run(calls, context_of)
        entries = [self._result_entry(call, result) for call, result in ran]
        summary = next((result.summary for _, result in ran if result.summary is not None), None)
        if summary is not None:
            return self._conclude(turn, summary, entries)
        state = read_state(turn.entries)
        added = self._hooks.entries_at(HookPoint.POST_TOOL_CALL, HookView(turn.entries, state, self._make))
        await turn.append([*entries, *added])
        self._crash_points.reach(CrashPoint.AGENT_RESULTS_STORED)
        return None

    def _result_entry(self, call: ToolCall, result: ToolResult) -> NewLogEntry:
        return self._make.tool_result(
            call.call_id, result.content, result.memory_fact_ids, bears_memory=result.bears_memory
        )

    def _conclude(self, turn: Turn, summary: ShoppingSummary, entries: list[NewLogEntry]) -> Outcome:
        cards = cards_of(summary, offered_items(turn.entries))
        if cards:
            turn.progress.emit(ProgressEvent.ITEMS, {"items": [card.model_dump(mode="json") for card in cards]})
        return Outcome(reply=summary.reply, items=cards, entries=entries)
