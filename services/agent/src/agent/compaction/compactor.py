"""Makes room in a session before its requests outgrow the model's window."""

import asyncio
from collections.abc import Sequence

from agent.compaction.limits import ContextLimits, bytes_of_tokens, estimated_tokens
from agent.compaction.pruning import results_to_prune, size_of_results
from agent.compaction.summaries import compaction_request, read_summary, summary_content
from agent.compaction.tail import choose_tail
from agent.context.entries import EntryFactory
from agent.context.replacements import last_attempt_to_summarise
from agent.loop.call_records import call_on_log
from agent.loop.turn import Turn
from common.clock import Clock
from common.logs import get_logger
from common.memory_api.sessions import LogEntry, NewLogEntry
from common.memory_api.turns import ModelCallKind
from model_client.answers import ModelAnswer
from model_client.errors import ModelError
from model_client.measured import StreamingModel
from model_client.whole_answer import whole_answer

_log = get_logger(__name__)

_TURNS_AFTER_A_FAILURE = 3
"""A summary that failed is not tried again before as many turns have gone by."""


class Compactor:
    """`model` and `model_name` are the main model's: another one would have nothing cached. `time_limit` is seconds
    per summary."""

    def __init__(
        self,
        model: StreamingModel,
        model_name: str,
        make: EntryFactory,
        limits: ContextLimits,
        clock: Clock,
        *,
        time_limit: float,
    ) -> None:
        self._model = model
        self._model_name = model_name
        self._make = make
        self._limits = limits
        self._clock = clock
        self._time_limit = time_limit
        self._instruction = compaction_request()

    async def make_room(self, turn: Turn) -> None:
        """Before a main call. A summary comes first, because pruning would end the prefix it is read from."""
        too_long = estimated_tokens(turn.rendering, turn.sent) >= self._limits.compact_at * self._limits.window
        if too_long and may_summarise(turn) and await self._summarise(turn, self._limits.window):
            return
        limit = bytes_of_tokens(self._limits.prune_at * self._limits.window, turn.sent)
        if size_of_results(turn.rendering.parts) > limit:
            await self._prune(turn, before=turn.first_position, left=limit // 2, at_least=limit // 4)

    async def make_room_after_overflow(self, turn: Turn) -> bool:
        """After a request that was longer than the window, once per attempt; whether another try makes sense.

        A summary of that request would be too long as well, so results are pruned first, those of this turn included.
        The window is smaller than we were told, if the request was not: what was refused is the measure.
        """
        if turn.overflowed:
            return False
        turn.overflowed = True
        window = min(self._limits.window, estimated_tokens(turn.rendering, turn.sent))
        left = size_of_results(turn.rendering.parts) // 2
        pruned = await self._prune(turn, before=_last_answer(turn), left=left, at_least=1)
        summarised = not _tried_in_this_turn(turn) and await self._summarise(turn, window)
        return pruned or summarised

    async def _prune(self, turn: Turn, *, before: int, left: int, at_least: int) -> bool:
        positions = results_to_prune(turn.rendering.parts, before=before, left=left, at_least=at_least)
        if not positions:
            return False
        await turn.append([self._make.prune(positions)])
        _log.info("compaction.pruned", results=len(positions), bytes_left=turn.rendering.size)
        return True

    async def _summarise(self, turn: Turn, window: float) -> bool:
        """Ask for a summary and store it. One that fails, or does not help, changes nothing but is noted."""
        answer = await self._ask(turn)
        if answer is None:
            await turn.append([self._make.failed_summary()])
            return False
        call = call_on_log(turn, ModelCallKind.COMPACTION, self._model_name, answer, turn.rendering)
        entry = self._summary_entry(turn, answer, window)
        await turn.append([entry or self._make.failed_summary()], call)
        _log.info("compaction.summarised" if entry else "compaction.useless", bytes_left=turn.rendering.size)
        return entry is not None

    async def _ask(self, turn: Turn) -> ModelAnswer | None:
        """The same tools, model and messages as a main call, so that it is read from the cache; only the instruction
        is new. Calls in the answer are not run."""
        request = turn.request(self._model_name, appended=(self._instruction,))
        give_up_at = min(turn.give_up_at, self._clock.monotonic() + self._time_limit)
        try:
            async with asyncio.timeout(self._time_limit) as limit:
                return await whole_answer(self._model, request, give_up_at=give_up_at)
        except ModelError as error:
            _log.warning("compaction.failed", error=error)
        except TimeoutError:
            if not limit.expired():
                raise
            _log.warning("compaction.failed", error="too slow")
        return None

    def _summary_entry(self, turn: Turn, answer: ModelAnswer, window: float) -> NewLogEntry | None:
        """The entry, where there is a summary and it makes the session shorter by enough to be worth its price."""
        summary = read_summary(answer.text)
        if summary is None:
            return None
        budget = bytes_of_tokens(self._limits.keep * window, turn.sent)
        tail = choose_tail(turn.rendering.parts, turn.log, budget)
        entry = self._make.summary(summary_content(summary), tail.kept, tail.begin)
        left = turn.rendering_with([entry])
        enough = bytes_of_tokens(self._limits.progress * window, turn.sent)
        return entry if left.size <= enough and left.size < turn.rendering.size else None


def may_summarise(turn: Turn) -> bool:
    """Not twice in one turn, and not soon after an attempt that failed: what did not help now will not help at once."""
    attempt = last_attempt_to_summarise(turn.log)
    if attempt is None:
        return True
    entry, summary = attempt
    turns = _turns_since(turn, entry)
    return turns >= (1 if summary.message is not None else _TURNS_AFTER_A_FAILURE)


def _tried_in_this_turn(turn: Turn) -> bool:
    attempt = last_attempt_to_summarise(turn.log)
    return attempt is not None and attempt[0].turn_id == turn.claimed.turn_id


def _turns_since(turn: Turn, entry: LogEntry) -> int:
    """Turns that began after the entry's own."""
    later = {each.turn_id for each in turn.log if each.position > entry.position} | {turn.claimed.turn_id}
    return len(later - {entry.turn_id})


def _last_answer(turn: Turn) -> int:
    """Position of the last step: the model has not seen its results."""
    positions: Sequence[int] = [part.position for part in turn.rendering.parts if part.is_answer]
    return max((position for position in positions if position >= turn.first_position), default=turn.first_position)
