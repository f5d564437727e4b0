"""Constraint safety: results that contradict a remembered constraint are named in a notice, so that nobody overlooks
the marks on them; each product once in a turn. Nothing is filtered."""

from agent.loop.hooks import Hook, HookPoint, HookView
from agent.tools.item_results import ITEM_TOOLS, items_shown_in, read_items
from common.memory_api.sessions import NewLogEntry

_MOST = 10
"""Products named one by one."""


async def _add(view: HookView) -> list[NewLogEntry]:
    shown = [card for call, result in view.results if call.name in ITEM_TOOLS for card in read_items(result.content)]
    named_before = {(card.item_id, *card.marks) for card in items_shown_in(view.turn.entries)}
    marked = {
        card.item_id: card.marks for card in shown if card.marks and (card.item_id, *card.marks) not in named_before
    }
    if not marked:
        return []
    named = "；".join(f"{item_id}（{'，'.join(marks)}）" for item_id, marks in list(marked.items())[:_MOST])
    rest = f" 等 {len(marked)} 件" if len(marked) > _MOST else ""
    return [
        view.make.notice(
            f"这些商品与 [constraint] 记忆冲突，结果里标了 marks：{named}{rest}。"
            "不要推荐它们；用户本轮明说可以的除外，那时在 reason 里写明冲突。"
        )
    ]


constraint_notice = Hook("constraint_notice", HookPoint.POST_TOOL_CALL, 40, _add)
