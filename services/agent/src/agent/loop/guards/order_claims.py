"""The model says that it has confirmed, placed, paid or cancelled an order. It cannot: only the user settles a card.

Such an answer is taken back, once; a model that says it again does not get the last word. What an order tool or an
order block of the session shows as settled may be told.
"""

import re

from pydantic import ValidationError

from agent.context.messages import tool_calls_of, tool_results
from agent.loop.corrections import Correction, correcting, given_corrections
from agent.loop.hooks import HookPoint, HookView
from agent.loop.turn import Turn
from agent.orders.pending_order_block import is_order_block
from agent.tools import shopping_summary
from agent.tools.shopping_summary import read_summary
from common.memory_api.orders import OrderState
from common.memory_api.sessions import Layer
from model_client.answers import ToolCall
from model_client.arguments import read_arguments
from model_client.errors import ModelMisbehaved

_ORDER_TOOLS = frozenset({"order_lookup", "order_propose"})
_AT_MOST = 2

_TEXT = (
    "你没有下单、确认或取消订单、付款的能力：只有用户本人能在订单卡上确认或取消。刚才的答复没有发给用户。重新作答："
    "有待确认的订单卡，就请用户自己确认或取消；没有，就如实说还没有下单。"
)

_CLAUSE = re.compile(r"[^。！？!?；;，,、：:\n.]+")
_FOR_YOU = r"(?:为|帮|替|给)(?:您|你)"
_DONE = r"(?:下单|下好单|下了单|(?:确认|提交)了?(?:这个|该|此)?订单|付款|支付|购买)"
_BY_ME = r"\bI(?:['’]ve|\s+have)?\s+(?:just\s+|already\s+|successfully\s+)*"
_IS_DONE = r"\b(?:order|purchase)\s+(?:has\s+been|was|is(?:\s+now)?)\s+(?:successfully\s+)?"
_CLAIMS = {
    OrderState.CONFIRMED: re.compile(
        rf"(?:已经?|刚刚?|成功)(?:为|帮|替|给)?(?:您|你)?(?:成功)?{_DONE}"
        rf"|{_FOR_YOU}{_DONE}(?:好?了|成功)"
        rf"|订单(?:已经?|成功)(?:成功|{_FOR_YOU})?(?:确认|提交|下单|支付|付款|生效)"
        r"|(?:下单|付款|支付|订单(?:确认|提交))(?:已经?)?(?:成功|完成)"
        rf"|{_IS_DONE}(?:confirmed|placed|paid|completed)"
        rf"|{_BY_ME}(?:placed|confirmed|paid\s+for|completed)\s+(?:the|your|this)\s+(?:order|purchase)",
        re.IGNORECASE,
    ),
    OrderState.CANCELLED: re.compile(
        r"(?:已经?|刚刚?|成功)(?:为|帮|替|给)?(?:您|你)?(?:成功)?取消了?(?:这个|该|此|这笔|您的|你的)?订单"
        rf"|{_FOR_YOU}取消(?:好?了|成功)"
        rf"|订单(?:已经?|成功)(?:成功|{_FOR_YOU}|被)?取消"
        rf"|{_IS_DONE}cancell?ed"
        rf"|{_BY_ME}cancell?ed\s+(?:the|your|this)\s+(?:order|purchase)",
        re.IGNORECASE,
    ),
}
_OPEN = re.compile(
    r"不|没|未|无|尚|别|才|吗|是否|确保|\b(?:not|never|cannot|please|whether|make sure)\b|n['’]t\b", re.IGNORECASE
)
"""A denial or a question: the clause claims nothing."""
_CONDITION = re.compile(
    r"如果|若|等|后|一旦|\b(?:if|once|after|when|until|before|unless)\b",
    re.IGNORECASE,
)


def claimed_states(text: str) -> frozenset[OrderState]:
    """What the text says has become of an order: in a clause without denial or question, and without a condition in it
    or right before it."""
    claimed: set[OrderState] = set()
    before = ""
    for clause in _CLAUSE.findall(text):
        if not (_OPEN.search(clause) or _CONDITION.search(before + clause)):
            claimed |= {state for state, claim in _CLAIMS.items() if claim.search(clause)}
        before = clause
    return frozenset(claimed)


def refuse_to_end(turn: Turn) -> None:
    """Raises ModelMisbehaved where the model was told, and said it again."""
    if given_corrections(turn)[Correction.ORDER_NOT_CONFIRMED] >= _AT_MOST:
        raise ModelMisbehaved("claimed twice that an order is settled")


def _text_for(view: HookView) -> str | None:
    claimed = claimed_states(_answer(view))
    return _TEXT if claimed and claimed - _shown_states(view.turn) else None


def _answer(view: HookView) -> str:
    """What the user would read: a plain answer, or a summary that is about to run."""
    summaries = [call for call in view.state.open_calls if call.name == shopping_summary.NAME]
    return "\n".join(map(_read, summaries)) if summaries else view.state.final_text or ""


def _read(call: ToolCall) -> str:
    try:
        summary = read_summary(read_arguments(call.arguments) or {})
    except ValidationError:
        return ""  # the tool refuses it
    return "\n".join([summary.reply, *(reason for _, reason in summary.items if reason)])


def _shown_states(turn: Turn) -> frozenset[OrderState]:
    """As `shown_order` writes them. No title can pose as one: JSON escapes the quotes of a value."""
    asked = {call.call_id for entry in turn.log for call in tool_calls_of(entry.message) if call.name in _ORDER_TOOLS}
    results = [result.content for _, result in tool_results(turn.log) if result.call_id in asked]
    blocks = [str(entry.message.get("content")) for entry in turn.log if entry.layer is Layer.L2]
    shown = [*results, *filter(is_order_block, blocks)]
    return frozenset(state for state in OrderState if any(f'"state":"{state}"' in text for text in shown))


order_claims = correcting(Correction.ORDER_NOT_CONFIRMED, HookPoint.POST_MODEL_CALL, 40, _text_for, at_most=_AT_MOST)
