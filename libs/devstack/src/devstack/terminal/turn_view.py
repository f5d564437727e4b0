"""Shows a turn while it happens: streamed words, tool calls with their arguments, products, what was remembered."""

from typing import Any

from common.streams.progress import ProgressEvent
from devstack.gateway_client import TurnEvent
from devstack.terminal.orders import show_order
from devstack.terminal.screen import Screen

_ANSWER = "助手 · assistant: "
_VALUE_SHOWN = 60
_LIST_SHOWN = 5


class TurnView:
    """One turn. Feed it every event of the turn's stream, in order."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._streamed = ""
        self._in_line = False
        self._shown_items: list[dict[str, Any]] = []
        self._shown_orders: list[dict[str, Any]] = []

    def show(self, event: TurnEvent) -> None:
        match event.kind:
            case ProgressEvent.TURN_STARTED:
                self._start(event.data)
            case ProgressEvent.TEXT_DELTA:
                self._stream(str(event.data.get("text", "")))
            case ProgressEvent.TOOL_STARTED:
                self._line(f"  → {call_line(event.data.get('tool'), event.data.get('arguments'))}", "yellow")
            case ProgressEvent.TOOL_FINISHED:
                self._line(f"  ← {event.data.get('tool')}: {event.data.get('summary')}", "dim")
            case ProgressEvent.ITEMS | ProgressEvent.ORDER_CARD:
                self._cards(event.data)
            case ProgressEvent.MEMORY_SAVED:
                self._line(remembered(event.data), "green")
            case ProgressEvent.MEMORY_UPDATED:
                self._memory(event.data.get("outcomes") or [])
            case ProgressEvent.TURN_SNAPSHOT:
                self._line("  (接上进度 · caught up from a snapshot)", "dim")
            case ProgressEvent.TURN_COMPLETED | ProgressEvent.TURN_FAILED | ProgressEvent.TURN_CANCELLED:
                self._end(event)
            case _:
                pass

    def _start(self, data: dict[str, Any]) -> None:
        if int(data.get("attempt") or 1) > 1:
            self._line("  (重新开始 · another worker has taken the turn up)", "dim")
            self._streamed = ""

    def _stream(self, words: str) -> None:
        if not self._in_line:
            self._screen.part(_ANSWER, "bold")
        self._screen.part(words)
        self._in_line = True
        self._streamed += words

    def _cards(self, data: dict[str, Any]) -> None:
        if "card" in data:
            self._order(data["card"])
        else:
            self._items(data.get("items") or [])

    def _order(self, card: dict[str, Any]) -> None:
        """A card that is told again, unchanged, is the one that stands there already."""
        if card not in self._shown_orders:
            self._shown_orders.append(card)
            self._break()
            show_order(self._screen, card)

    def _items(self, items: list[dict[str, Any]]) -> None:
        self._shown_items = items
        for item in items:
            self._line(f"  • {item_line(item)}")

    def _memory(self, outcomes: list[dict[str, Any]]) -> None:
        for outcome in outcomes:
            if outcome.get("action") in ("added", "updated"):
                self._line(remembered(outcome), "green")

    def _end(self, event: TurnEvent) -> None:
        reply = str(event.data.get("reply") or "")
        if reply.strip() and reply.strip() not in self._streamed:
            self._line(_ANSWER + reply)
        items = event.data.get("items") or []
        if items and items != self._shown_items:
            self._items(items)
        if event.kind != ProgressEvent.TURN_COMPLETED:
            failure = event.data.get("failure") or event.kind
            self._line(f"  (这一轮没有完成 · the turn ended without its own answer: {failure})", "red")
        self._break()

    def _line(self, words: str, style: str = "") -> None:
        self._break()
        self._screen.line(words, style)

    def _break(self) -> None:
        if self._in_line:
            self._screen.line("")
            self._in_line = False


def item_line(item: dict[str, Any]) -> str:
    reason = f"：{item['reason']}" if item.get("reason") else ""
    marks = f" ⚠ {', '.join(item['marks'])}" if item.get("marks") else ""
    return f"{item['item_id']} {item['title']} · {item['price']} {item['currency']} · {item['platform']}{reason}{marks}"


def remembered(fact: dict[str, Any]) -> str:
    return f"  ✎ 记住了 · remembered: [{fact.get('category')}] {fact.get('key')} = {fact.get('value')}"


def call_line(tool: Any, arguments: Any) -> str:
    """A call as a person reads it: long values and long lists are cut, with the number of what is not shown."""
    if not isinstance(arguments, dict):
        return f"{tool} {_cut(str(arguments))}"
    return f"{tool}({', '.join(f'{name}={_value(value)}' for name, value in arguments.items())})"


def _value(value: Any) -> str:
    if not isinstance(value, list):
        return _cut(str(value))
    if any(isinstance(part, dict) for part in value):
        return f"[{len(value)}]"
    shown = "、".join(_cut(str(part)) for part in value[:_LIST_SHOWN])
    return shown if len(value) <= _LIST_SHOWN else f"{shown}… (+{len(value) - _LIST_SHOWN})"


def _cut(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _VALUE_SHOWN else f"{line[:_VALUE_SHOWN]}…"
