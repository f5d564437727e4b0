"""For calls that nobody watches: the answer, without the deltas it came in."""

from contextlib import aclosing

from model_client.answers import ModelAnswer
from model_client.errors import ModelStreamBroken
from model_client.measured import StreamingModel
from model_client.requests import ModelRequest


async def whole_answer(model: StreamingModel, request: ModelRequest, *, give_up_at: float | None = None) -> ModelAnswer:
    """Raises ModelError. `give_up_at` is as for `ModelClient.stream`."""
    async with aclosing(model.stream(request, give_up_at=give_up_at)) as events:
        async for event in events:
            if isinstance(event, ModelAnswer):
                return event
    raise ModelStreamBroken("no answer")
