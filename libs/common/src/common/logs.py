"""Structured logs. Events are named, values are ids and numbers; a memory value, a message text or a secret
never goes into a log line, so exceptions are logged by type and place, not by message."""

import logging
import sys
import traceback
from typing import Any

import structlog

from common.telemetry.traces import current_trace_id


def configure_logs(service: str, level: str = "info", log_format: str = "json") -> None:
    renderer: Any = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if log_format == "json"
        else structlog.processors.LogfmtRenderer(key_order=["level", "event"])
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _exception_without_message,
            _with_trace,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stdout),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    # Libraries log through the standard module; their messages may quote what they were given.
    logging.basicConfig(level=logging.CRITICAL, force=True)


def _exception_without_message(_: Any, __: str, event: Any) -> Any:
    """Replace an exception by its type and the places it passed: messages may quote what the user wrote."""
    error = event.pop("error", None)
    if isinstance(error, BaseException):
        frames = traceback.extract_tb(error.__traceback__)[-4:]
        event["error_type"] = type(error).__qualname__
        event["error_at"] = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    elif error is not None:
        event["error_type"] = str(error)
    return event


def _with_trace(_: Any, __: str, event: Any) -> Any:
    trace_id = current_trace_id()
    if trace_id is not None:
        event["trace_id"] = trace_id
    return event


def get_logger(name: str) -> Any:
    return structlog.get_logger(module=name)
