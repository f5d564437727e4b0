"""What can go wrong with a model call. Messages carry codes and numbers, never a prompt or an answer."""

from model_client.usage import ModelUsage


class ModelError(Exception):
    """A model call that gave no usable answer."""


class ModelUnavailable(ModelError):
    """Retryable: the endpoint did not answer, or said that it cannot right now."""

    accepted = False
    """Whether the endpoint had taken the request up, so that the attempt may have cost something."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


class ModelTimedOut(ModelUnavailable):
    """The endpoint took the request and was silent for longer than allowed."""

    accepted = True


class ModelStreamBroken(ModelUnavailable):
    """The answer stopped before it was complete. What had come is not an answer."""

    accepted = True


class ModelRefused(ModelError):
    """Permanent: the endpoint will not answer this request (400, 401, 403, 404, …)."""

    def __init__(self, status: int, reason: str | None = None) -> None:
        super().__init__(reason or f"status {status}")
        self.status = status


class ModelFiltered(ModelRefused):
    """Permanent: the provider's content filter withheld the answer, or the rest of it."""

    def __init__(self) -> None:
        super().__init__(200, "content filter")


class ContextOverflow(ModelError):
    """The request does not fit into the model's context window. The same request never will; a shorter one may."""

    def __init__(self) -> None:
        super().__init__("the request is longer than the model's context window")


class ModelMisbehaved(ModelError):
    """The endpoint answered with something that cannot be used. The client has tried twice; a request that says what
    was wrong may give something better.

    `reasoning` is what the model had thought (never logged); `usage` what the unusable answer cost.
    """

    def __init__(self, reason: str, *, reasoning: str = "", usage: ModelUsage | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.reasoning = reasoning
        self.usage = usage or ModelUsage()


class ModelTruncated(ModelMisbehaved):
    """The length limit was reached inside a tool call, which must never be executed, or before the answer began."""


class ModelEmpty(ModelMisbehaved):
    """Neither text nor a tool call came, though nothing was cut off."""


class ModelCallUnreadable(ModelMisbehaved):
    """A tool call was written into the text, and cannot be read or is of no tool that was offered."""
