"""The model says that it has confirmed, placed or paid an order. It cannot: only the user confirms a card.

Such an answer is taken back, once; a model that says it again does not get the last word. What an order tool or an
order block of the session shows as confirmed may be told.
"""

import re

from agent.context.messages import message_of, tool_calls_of, tool_results
from agent.loop.corrections import Correction, correcting, given_corrections
from agent.loop.hooks import HookPoint, HookView
from agent.loop.turn import Turn
from agent.orders.pending_order_block import is_order_block
from agent.tools import shopping_summary
from common.memory_api.sessions import Layer
from model_client.arguments import read_arguments
from model_client.errors import ModelMisbehaved

_ORDER_TOOLS = frozenset({"order_lookup", "order_propose"})
_AT_MOST = 2
_CONFIRMED = '"state":"confirmed"'
"""As `shown_order` is written. No title can pose as it: JSON escapes the quotes of a value."""

_TEXT = (
    "你没有下单、确认订单或付款的能力：只有用户本人能在订单卡上确认。刚才的答复没有发给用户。重新作答：有待确认的订单卡，"
    "就请用户自己确认或取消；没有，就如实说还没有下单。"
)

_CLAUSE = re.compile(r"[^。！？!?；;，,、：:\n.]+")
_DONE = r"(?:下单|下好单|下了单|确认了?(?:这个|该|此)?订单|付款|支付|购买)"
_CLAIM = re.compile(
    rf"(?:已经?|刚刚?|成功)(?:为|帮|替|给)?(?:您|你)?(?:成功)?{_DONE}"
    rf"|(?:为|帮|替|给)(?:您|你){_DONE}(?:好?了|成功)"
    r"|订单(?:已经?|成功)(?:成功)?(?:确认|提交|下单|支付|付款|生效)"
    r"|(?:下单|付款|支付)(?:已经?)?(?:成功|完成)"
    r"|\b(?:order|purchase)\s+(?:has\s+been|was|is\s+now)\s+(?:successfully\s+)?(?:confirmed|placed|paid|completed)"
    r"|\bI(?:['’]ve|\s+have)?\s+(?:just\s+|already\s+|successfully\s+)*"
    r"(?:placed|confirmed|paid\s+for|completed)\s+(?:the|your|this)\s+(?:order|purchase)",
    re.IGNORECASE,
)
_DENIAL = re.compile(r"不|没|未|无|尚|别|才|\b(?:not|never|cannot)\b|n['’]t\b", re.IGNORECASE)
_CONDITION = re.compile(
    r"如果|若|等|后|一旦|\b(?:if|once|after|when|until|before|unless)\b",
    re.IGNORECASE,
)


def claims_an_order(text: str) -> bool:
    """Whether a clause says that an order is confirmed, placed or paid, without denial, and without a condition in it
    or right before it."""
    before = ""
    for clause in _CLAUSE.findall(text):
        is_open = _DENIAL.search(clause) or _CONDITION.search(before + clause)
        if _CLAIM.search(clause) and not is_open:
            return True
        before = clause
    return False


def refuse_to_end(turn: Turn) -> None:
    """Raises ModelMisbehaved where the model was told, and said it again."""
    if given_corrections(turn)[Correction.ORDER_NOT_CONFIRMED] >= _AT_MOST:
        raise ModelMisbehaved("claimed twice that an order is confirmed")


def _text_for(view: HookView) -> str | None:
    return _TEXT if claims_an_order(_answer(view)) and not _shows_a_confirmed_order(view.turn) else None


def _answer(view: HookView) -> str:
    """What the user would read: a plain answer, or the reply of a summary that is about to run."""
    summaries = [call for call in view.state.open_calls if call.name == shopping_summary.NAME]
    if summaries:
        replies = ((read_arguments(call.arguments) or {}).get("reply") for call in summaries)
        return "\n".join(reply for reply in replies if isinstance(reply, str))
    return view.state.final_text or ""


def _shows_a_confirmed_order(turn: Turn) -> bool:
    asked = {
        call.call_id for entry in turn.log for call in tool_calls_of(message_of(entry)) if call.name in _ORDER_TOOLS
    }
    results = [result.content for _, result in tool_results(turn.log) if result.call_id in asked]
    blocks = [str(message_of(entry).get("content")) for entry in turn.log if entry.layer is Layer.L2]
    return any(_CONFIRMED in text for text in (*results, *(block for block in blocks if is_order_block(block))))


order_claims = correcting(Correction.ORDER_NOT_CONFIRMED, HookPoint.POST_MODEL_CALL, 40, _text_for, at_most=_AT_MOST)
