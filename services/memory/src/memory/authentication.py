"""Who is calling: each service has a token of its own, compared in constant time."""

import hmac
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from common.memory_api.operations import Operation, Service
from common.problems import ProblemCode, ProblemError


class ServiceTokens:
    def __init__(self, tokens: Mapping[Service, SecretStr]) -> None:
        self._tokens = {service: token.get_secret_value().encode() for service, token in tokens.items()}
        if any(len(token) < 16 for token in self._tokens.values()):
            raise ValueError("service tokens must have at least 16 bytes")
        if len(set(self._tokens.values())) != len(self._tokens):
            raise ValueError("each service needs a token of its own")

    def admit(self, operation: Operation[Any, Any], authorization: str | None) -> Service:
        """The calling service, if it may use the operation."""
        scheme, _, token = (authorization or "").partition(" ")
        presented = token.encode()
        caller = next(
            (service for service, known in self._tokens.items() if hmac.compare_digest(known, presented)), None
        )
        if scheme.lower() != "bearer" or caller is None:
            raise ProblemError(ProblemCode.UNAUTHENTICATED)
        if caller not in operation.callers:
            raise ProblemError(ProblemCode.FORBIDDEN)
        return caller
