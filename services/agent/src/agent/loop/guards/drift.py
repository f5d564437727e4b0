"""A reminder in long turns: after many results the user's words are far above."""

from agent.loop.corrections import Correction, correcting
from agent.loop.hooks import HookPoint, HookView
from model_client.exact_json import exact_json

AFTER_STEPS = 6

_TEXT = (
    "这一轮已经走了很多步。回头对照用户本轮的原话：跑题了就回到原来的需求，手上的够用了就作答。"
    "本会话现在有效的条件：{constraints}；标 [constraint] 的记忆照旧。"
)


def _text_for(view: HookView) -> str | None:
    if view.state.steps < AFTER_STEPS:
        return None
    return _TEXT.format(constraints=exact_json(view.turn.session_constraints.shown()))


drift = correcting(Correction.DRIFT, HookPoint.PRE_MODEL_CALL, 80, _text_for)
