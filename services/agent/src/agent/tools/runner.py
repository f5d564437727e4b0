"""Runs the calls of one step: independent ones at once, effectful ones in order, exactly one result for each."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from agent.context.fences import external_content
from agent.tools import shopping_summary
from agent.tools.registry import EXTERNAL_SOURCE_TOOLS, MEMORY_BEARING_TOOLS, ToolRegistry
from agent.tools.tool import Fault, ToolContext, ToolFailed, ToolResult
from common.clock import Clock
from common.logs import get_logger
from common.problems import ProblemError
from common.streams.progress import ProgressEvent
from common.telemetry.metrics import Metrics
from common.telemetry.table import TOOL_SECONDS
from common.telemetry.traces import failed, span
from model_client.answers import ToolCall
from model_client.arguments import ArgumentsFault, fault_of, read_arguments
from model_client.exact_json import exact_json

_log = get_logger(__name__)

_NOT_ALONE = (
    "not shown to the user: it was written before the results of the other calls were known. "
    "Read their receipts first, then call shopping_summary alone"
)


class ToolRunner:
    """`time_limit` is seconds per call. `effect_done` is called when a call has had its effect."""

    def __init__(
        self,
        registry: ToolRegistry,
        clock: Clock,
        effect_done: Callable[[], None],
        metrics: Metrics,
        *,
        time_limit: float = 20.0,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._effect_done = effect_done
        self._seconds = metrics.histogram(TOOL_SECONDS)
        self._time_limit = time_limit

    async def run(
        self,
        calls: Sequence[ToolCall],
        context_of: Callable[[ToolCall], ToolContext],
        refused: Mapping[str, str] = MappingProxyType({}),
    ) -> list[tuple[ToolCall, ToolResult]]:
        """One result per call, in the order of the calls. Raises ProblemError where the lease is lost.

        `refused` are calls, by id, that are not run, with what their results say.
        """
        runnable = [call for call in calls if call.call_id not in refused]
        effectful = [call for call in runnable if self.is_effectful(call.name)]
        # A summary tells the user what came of the turn, so it must not share a step with a call that has an effect.
        too_early = [call for call in runnable if effectful and call.name == shopping_summary.NAME]
        results = {call.call_id: error_result(call, _NOT_ALONE) for call in too_early}
        results |= {call.call_id: error_result(call, refused[call.call_id]) for call in calls if call not in runnable}
        others = [call for call in runnable if call not in effectful and call.call_id not in results]

        async def run_into(some: Sequence[ToolCall]) -> None:
            for call in some:
                results[call.call_id] = await self._run_one(call, context_of(call))

        tasks = [asyncio.create_task(run_into(some)) for some in (effectful, *([call] for call in others)) if some]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return [(call, results[call.call_id]) for call in calls]

    def is_effectful(self, tool_name: str) -> bool:
        tool = self._registry.get(tool_name)
        return tool is not None and tool.effectful

    async def _run_one(self, call: ToolCall, context: ToolContext) -> ToolResult:
        started_at = self._clock.monotonic()
        arguments = read_arguments(call.arguments)
        about = {"call_id": call.call_id, "tool": call.name}
        context.progress.emit(ProgressEvent.TOOL_STARTED, {**about, "arguments": arguments or {}})
        name = self._known_name(call)
        with span(f"tool {name}") as running:
            result = await self._result(call, arguments, context)
            if result.failed:
                failed(running, "tool")
        self._effect_done()
        seconds = self._clock.monotonic() - started_at
        self._seconds.labels(name, "error" if result.failed else "done").observe(seconds)
        duration_ms = round(seconds * 1_000)
        context.progress.emit(
            ProgressEvent.TOOL_FINISHED, {**about, "summary": result.note, "duration_ms": duration_ms}
        )
        _log.info("tool.ran", tool=name, duration_ms=duration_ms, failed=result.failed)
        return result

    def _known_name(self, call: ToolCall) -> str:
        """The tool's name where it is one of ours: a model may have made up any other."""
        return "unknown" if self._registry.get(call.name) is None else call.name

    async def _result(self, call: ToolCall, arguments: dict[str, Any] | None, context: ToolContext) -> ToolResult:
        tool = self._registry.get(call.name)
        if tool is None:
            return error_result(call, "there is no such tool", Fault.UNKNOWN_TOOL)
        if arguments is None:
            return error_result(call, _what_is_wrong_with(call.arguments), Fault.INVALID_ARGUMENTS)
        try:
            async with asyncio.timeout(self._time_limit):
                return _fenced(call, await tool.run(arguments, context))
        except ToolFailed as error:
            return error_result(call, str(error))
        except ValidationError as error:
            return error_result(call, _what_is_wrong(error))
        except TimeoutError:
            _log.warning("tool.timed_out", tool=tool.name)
            return error_result(call, "this took too long; try once more, or go on without it")
        except ProblemError:
            raise  # the lease is lost, or memory says that we are wrong
        except Exception as error:  # noqa: BLE001 - a bug in one tool costs its result, not the turn
            _log.error("tool.bug", tool=tool.name, error=error)
            return error_result(call, "the tool failed; go on without it")


def error_result(call: ToolCall, message: str, fault: Fault | None = None) -> ToolResult:
    bears_memory = call.name in MEMORY_BEARING_TOOLS
    content = exact_json({"error": message})
    return ToolResult(content, note="error", bears_memory=bears_memory, failed=True, fault=fault)


def _fenced(call: ToolCall, result: ToolResult) -> ToolResult:
    if call.name not in EXTERNAL_SOURCE_TOOLS:
        return result
    return replace(result, content=external_content(call.name, result.content))


def _what_is_wrong_with(arguments: str) -> str:
    if fault_of(arguments) is ArgumentsFault.CUT_OFF:
        return "the arguments are not a JSON object, for they were cut off; send the call again, whole and shorter"
    return "the arguments are not a JSON object; send the call again with valid JSON"


def _what_is_wrong(error: ValidationError) -> str:
    """Where and why, for the model; the values are left out."""
    found = error.errors(include_input=False, include_url=False, include_context=False)[:5]
    return "; ".join(f"{'.'.join(str(part) for part in item['loc']) or 'arguments'}: {item['msg']}" for item in found)
