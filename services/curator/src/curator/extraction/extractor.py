"""Asks the model for facts, and once more where its first answer cannot be used.

An answer that was cut off is asked for again with more room; one that cannot be read, with a word about what was
wrong. What cannot be used twice is an error that the work record tries again later, and never "no facts".
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from common.clock import Clock
from common.logs import get_logger
from common.memory_api.curation import CurationInput
from common.memory_api.facts import ProposedFact
from curator.extraction.parsing import TruncatedFacts, UnreadableFacts, parse_facts
from curator.extraction.prompt import extraction_request, repair_request
from model_client.answers import ModelAnswer, ModelEvent, Restarted
from model_client.errors import ModelStreamBroken, ModelTimedOut, ModelUnavailable
from model_client.requests import ModelRequest

_log = get_logger(__name__)

_LEASE_SHARE = 0.8
"""Part of the lease in which the model must have answered; the rest is for the ingest."""


class ChatModel(Protocol):
    def stream(self, request: ModelRequest, *, give_up_at: float | None = None) -> AsyncGenerator[ModelEvent]: ...


@dataclass(frozen=True)
class Extraction:
    """What the model proposes; `answers` are all it gave, each of which was paid for."""

    proposed: tuple[ProposedFact, ...]
    answers: tuple[ModelAnswer, ...]


class UnusableAnswers(Exception):
    """Two answers that could not be used. The message names what was wrong, never what was said."""

    def __init__(self, reason: str, answers: tuple[ModelAnswer, ...]) -> None:
        super().__init__(reason)
        self.answers = answers


class Extractor:
    def __init__(self, model: ChatModel, model_name: str, clock: Clock) -> None:
        self._model = model
        self._model_name = model_name
        self._clock = clock

    async def extract(self, claimed: CurationInput) -> Extraction:
        """The facts that the model proposes, within the lease: a curation's lease is not renewed.

        Raises UnusableAnswers, ModelTimedOut where the time is over and nothing but this input can be blamed,
        ModelUnavailable where part of it went by while the model was down, and the model client's other errors.
        """
        seconds = claimed.lease_seconds * _LEASE_SHARE
        give_up_at = self._clock.monotonic() + seconds
        was_down = asyncio.Event()
        try:
            async with asyncio.timeout(seconds):
                return await self._extract(claimed, give_up_at, was_down)
        except TimeoutError as error:
            raised = ModelUnavailable if was_down.is_set() else ModelTimedOut
            raise raised("no answer within the lease") from error

    async def _extract(self, claimed: CurationInput, give_up_at: float, was_down: asyncio.Event) -> Extraction:
        request = extraction_request(self._model_name, claimed.user_text, claimed.reply, claimed.facts)
        first = await self._ask(request, give_up_at, was_down)
        try:
            return Extraction(tuple(parse_facts(first.text, truncated=first.truncated)), (first,))
        except UnreadableFacts as error:
            _log.warning("extraction.asked_again", reason=str(error))
            second = await self._ask(_second_request(request, first, error), give_up_at, was_down)
        try:
            return Extraction(tuple(parse_facts(second.text, truncated=second.truncated)), (first, second))
        except UnreadableFacts as error:
            raise UnusableAnswers(str(error), (first, second)) from error

    async def _ask(self, request: ModelRequest, give_up_at: float, was_down: asyncio.Event) -> ModelAnswer:
        async with aclosing(self._model.stream(request, give_up_at=give_up_at)) as events:
            async for event in events:
                match event:
                    case ModelAnswer():
                        return event
                    case Restarted(accepted=False):
                        was_down.set()
        raise ModelStreamBroken("no answer")


def _second_request(request: ModelRequest, first: ModelAnswer, error: UnreadableFacts) -> ModelRequest:
    if isinstance(error, TruncatedFacts):
        return request.with_more_room()
    return repair_request(request, first.text, str(error))
