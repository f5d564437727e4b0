"""The fixed answers of a turn that ends without its own. Two services say them: the agent when it gives up, memory
when no agent is left to do so."""

import re

from common.memory_api.turns import FailureCode

_CJK = re.compile(r"[\u3400-\u9fff]")

_ANSWERS: dict[FailureCode, tuple[str, str]] = {
    FailureCode.DEADLINE: (
        "这一轮超出了时间上限，我没能做完。请再发一次，或把问题拆小一点。",
        "This took longer than allowed and I could not finish. Please send it again, or split it up.",
    ),
    FailureCode.MODEL_UNAVAILABLE: (
        "模型服务暂时连不上，这一轮没能完成。请稍后再试。",
        "The model service cannot be reached right now, so this was not finished. Please try again later.",
    ),
    FailureCode.MODEL_MISBEHAVED: (
        "模型的回答不完整，这一轮没能完成。请再发一次。",
        "The model's answer was not usable, so this was not finished. Please send it again.",
    ),
    FailureCode.STEP_LIMIT: (
        "这一轮试了太多步还没有结果，我先停在这里。请换个说法或缩小范围。",
        "I took too many steps without a result and stopped. Please rephrase or narrow it down.",
    ),
    FailureCode.ATTEMPTS_EXHAUSTED: (
        "这一轮多次重试都没有成功，我先停在这里。请再发一次。",
        "This failed several times and I stopped trying. Please send it again.",
    ),
    FailureCode.INTERNAL: (
        "我们这边出了点问题，这一轮没能完成。请再发一次。",
        "Something went wrong on our side and this was not finished. Please send it again.",
    ),
    FailureCode.CANCELLED_BY_USER: ("这一轮已按你的要求取消。", "This was cancelled as you asked."),
    FailureCode.MEMORY_CLEARED: (
        "长期记忆已清空，这一轮随之结束。请开一个新会话继续。",
        "Your memory was cleared and this ended with it. Please go on in a new session.",
    ),
    FailureCode.DISCARDED: (
        "这一轮已由管理员结束。请再发一次。",
        "This was ended by an operator. Please send it again.",
    ),
}


def fixed_answer(failure: FailureCode, user_text: str) -> str:
    """The answer in the language of the user's words: Chinese where they hold Chinese characters, else English."""
    chinese, english = _ANSWERS[failure]
    return chinese if _CJK.search(user_text) else english
