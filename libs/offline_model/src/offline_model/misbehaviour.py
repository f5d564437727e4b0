"""What goes wrong with one answer, as its directives ask."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from offline_model.directives import Directive, DirectiveName
from offline_model.errors import InvalidRequest


@dataclass(frozen=True)
class Misbehaviour:
    hang: bool = False
    status: int | None = None
    pause_seconds: float = 0.0
    cut: bool = False
    empty_choices: bool = False
    missing_ids: bool = False
    malformed_arguments: bool = False
    truncate: bool = False
    no_usage: bool = False


def misbehaviour_of(directives: Iterable[Directive], earlier: int) -> Misbehaviour:
    """`earlier`: how often exactly this request was seen before."""
    arguments = {
        directive.name: directive.argument
        for directive in directives
        if directive.first_requests is None or earlier < directive.first_requests
    }
    status = arguments.get(DirectiveName.HTTP)
    return Misbehaviour(
        hang=DirectiveName.HANG in arguments,
        status=None if status is None else _status(status),
        pause_seconds=_seconds(arguments.get(DirectiveName.SLOW, "0")),
        cut=DirectiveName.CUT in arguments,
        empty_choices=DirectiveName.EMPTY_CHOICES in arguments,
        missing_ids=DirectiveName.MISSING_IDS in arguments,
        malformed_arguments=DirectiveName.MALFORMED_ARGUMENTS in arguments,
        truncate=DirectiveName.TRUNCATE in arguments,
        no_usage=DirectiveName.NO_USAGE in arguments,
    )


def _status(argument: str) -> int:
    if not argument.isascii() or not argument.isdigit() or not 400 <= int(argument) <= 599:
        raise InvalidRequest("http takes a status from 400 to 599", "invalid_directive")
    return int(argument)


def _seconds(argument: str) -> float:
    try:
        seconds = float(argument)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 600:
        raise InvalidRequest("slow takes a number of seconds up to 600", "invalid_directive")
    return seconds


class SeenRequests:
    """Counts identical requests; forgets the oldest, so that memory stays bounded."""

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self._counts: OrderedDict[str, int] = OrderedDict()

    def count(self, digest: str) -> int:
        """How often the request was seen before; counts this time."""
        earlier = self._counts.pop(digest, 0)
        self._counts[digest] = earlier + 1
        if len(self._counts) > self._capacity:
            self._counts.popitem(last=False)
        return earlier
