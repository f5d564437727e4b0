"""A summary that lists a product marked as contradicting a remembered constraint, and hides what speaks against it.

It is not shown, once per turn, and the model is told which. A model that insists has its answer: the product is shown
with the mark on its card.
"""

from collections.abc import Iterable

from pydantic import ValidationError

from agent.loop.corrections import Correction, correcting
from agent.loop.guards.limits import is_last_answer
from agent.loop.hooks import HookPoint, HookView
from agent.picking.constraint_safety import names_conflict
from agent.tools import shopping_summary
from agent.tools.item_results import items_shown_in
from agent.tools.shopping_summary import read_summary
from agent.tools.tool import ShoppingSummary
from common.memory_api.turns import ItemCard
from model_client.arguments import read_arguments

_TEXT = (
    "刚才的 shopping_summary 没有给用户看：{named} 与 [constraint] 记忆冲突，答复里却没有说明。"
    "重新调用：去掉这些商品，或者在它们的 reason 里写明冲突并排在最后。"
)


def unnamed_conflicts(summary: ShoppingSummary, shown: Iterable[ItemCard]) -> dict[str, list[str]]:
    """By item id, the marks of listed products that neither the reason nor the reply's lines on the product name.

    A product's title is no statement on it, nor is what the reply says elsewhere: 「已避开坚果」.
    """
    marked = {card.item_id: card for card in shown if card.marks}
    unnamed: dict[str, list[str]] = {}
    for item_id, reason in summary.items:
        if item_id in marked:
            said = _said_of(marked[item_id], reason, summary.reply)
            missing = [mark for mark in marked[item_id].marks if not names_conflict(said, mark)]
            unnamed.update({item_id: missing} if missing else {})
    return unnamed


def _said_of(card: ItemCard, reason: str | None, reply: str) -> str:
    lines = [line for line in reply.splitlines() if card.title in line]
    return "\n".join([reason or "", *lines]).replace(card.title, " ")


def _text_for(view: HookView) -> str | None:
    """Nothing on the turn's last answer: the user must have one."""
    if is_last_answer(view.turn):
        return None
    unnamed: dict[str, list[str]] = {}
    for call in view.calls:
        if call.name == shopping_summary.NAME:
            try:
                summary = read_summary(read_arguments(call.arguments) or {})
            except ValidationError:
                continue  # the tool refuses it
            unnamed |= unnamed_conflicts(summary, items_shown_in(view.turn.entries))
    named = "；".join(f"{item_id}（{'，'.join(marks)}）" for item_id, marks in unnamed.items())
    return _TEXT.format(named=named) if unnamed else None


hidden_conflicts = correcting(Correction.UNNAMED_CONFLICT, HookPoint.PRE_TOOL_CALL, 40, _text_for)
