"""What happened in one turn, collected from its events."""

import json
from dataclasses import dataclass, field
from typing import Any

from common.streams.progress import ProgressEvent
from devstack.gateway_client import TurnEvent


@dataclass
class TurnRecord:
    session_id: str
    turn_id: str
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    saved: list[dict[str, Any]] = field(default_factory=list)
    plan: dict[str, Any] = field(default_factory=dict)
    order_cards: list[dict[str, Any]] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    reply: str = ""
    ended_as: str = ""
    curated: list[dict[str, Any]] = field(default_factory=list)

    @property
    def completed(self) -> bool:
        return self.ended_as == ProgressEvent.TURN_COMPLETED

    def arguments_of(self, tool: str) -> list[dict[str, Any]]:
        """The arguments of every call of this tool, in order."""
        return [arguments for name, arguments in self.calls if name == tool]

    def add(self, event: TurnEvent) -> None:
        match event.kind:
            case ProgressEvent.TOOL_STARTED:
                self.calls.append((str(event.data["tool"]), _arguments(event.data["arguments"])))
            case ProgressEvent.PLAN:
                self.plan = event.data
            case ProgressEvent.ORDER_CARD:
                self.order_cards.append(event.data)
            case ProgressEvent.MEMORY_SAVED:
                self.saved.append(event.data)
            case ProgressEvent.MEMORY_UPDATED:
                self.curated = event.data["outcomes"]
            case _ if event.ends_answer:
                self.ended_as = event.kind
                self.items = event.data.get("items") or []
                self.reply = event.data.get("reply") or ""
            case _:
                pass


def _arguments(given: Any) -> dict[str, Any]:
    return dict(json.loads(given) if isinstance(given, str) else given)
