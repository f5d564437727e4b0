"""What can go wrong with a model call. Messages carry codes and numbers, never a prompt or an answer."""


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

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class ModelMisbehaved(ModelError):
    """The endpoint answered with something that cannot be used. Another try may give something better."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ModelTruncated(ModelMisbehaved):
    """The answer reached its length limit inside a tool call, which must never be executed."""
