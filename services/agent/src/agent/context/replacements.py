"""What log entries of the kinds `prune` and `summary` hold: which messages no longer stand in a request, and what does.

The entries they name stay in the log as they were. An erased payload (after a clear) replaces nothing.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from common.memory_api.sessions import EntryKind, LogEntry

PRUNED = "[pruned: an old result; call the tool again if it is needed]"


class Prune(BaseModel):
    """The tool results at these positions of the log are shown as the placeholder from here on."""

    model_config = ConfigDict(frozen=True)

    positions: tuple[int, ...]
    placeholder: str = PRUNED


class Summary(BaseModel):
    """Everything up to here is shown as `message` (exact JSON text), the entries at the positions `kept`, and those
    from `tail_from` on. Without a message it tells of an attempt that failed, and replaces nothing."""

    model_config = ConfigDict(frozen=True)

    message: str | None
    kept: tuple[int, ...] = ()
    tail_from: int = 0


def prune_of(entry: LogEntry) -> Prune | None:
    try:
        return Prune.model_validate_json(entry.payload)
    except ValidationError:
        return None


def summary_of(entry: LogEntry) -> Summary | None:
    try:
        return Summary.model_validate_json(entry.payload)
    except ValidationError:
        return None


def standing(log: Sequence[LogEntry]) -> list[LogEntry]:
    """The messages of the log that a request still shows as they were, or as a placeholder: what no summary took."""
    left: list[LogEntry] = []
    for entry in log:
        summary = summary_of(entry) if entry.kind is EntryKind.SUMMARY else None
        if summary is not None and summary.message is not None:
            left = [each for each in left if each.position in summary.kept or each.position >= summary.tail_from]
        elif entry.kind is EntryKind.MESSAGE:
            left.append(entry)
    return left


def last_attempt_to_summarise(log: Sequence[LogEntry]) -> tuple[LogEntry, Summary] | None:
    for entry in reversed(log):
        if entry.kind is EntryKind.SUMMARY and (summary := summary_of(entry)) is not None:
            return entry, summary
    return None
