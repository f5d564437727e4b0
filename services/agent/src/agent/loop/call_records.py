"""From an answer of a model to what is stored of its cost."""

from agent.context.probe import first_difference
from agent.context.rendering import Rendering
from agent.loop.turn import Turn
from common.memory_api.turns import ModelCall, ModelCallKind
from model_client.answers import ModelAnswer
from model_client.exact_json import label


def side_call(turn: Turn, kind: ModelCallKind, model_name: str, answer: ModelAnswer) -> ModelCall:
    """A call with a prefix of its own."""
    usage = answer.usage
    return ModelCall(
        call_number=turn.model_calls + 1,
        kind=kind,
        attempt=turn.claimed.attempt,
        model=label(model_name),
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        completion_tokens=usage.completion_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        time_to_first_token_ms=answer.time_to_first_token_ms,
        duration_ms=answer.duration_ms,
        finish_reason=label(answer.finish_reason),
    )


def call_on_log(
    turn: Turn, kind: ModelCallKind, model_name: str, answer: ModelAnswer, rendering: Rendering
) -> ModelCall:
    """A call whose request was rendered from the log, with what the probe finds."""
    difference = first_difference(turn.sent, rendering)
    found = {
        "log_position": rendering.log_position,
        "layer_hashes": rendering.layer_hashes,
        "first_differing_layer": difference and difference.layer,
        "first_differing_position": difference and difference.position,
        "first_differing_cause": difference and difference.cause,
    }
    return side_call(turn, kind, model_name, answer).model_copy(update=found)
