"""POST /v1/chat/completions."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Send

from common.clock import Clock
from common.logs import get_logger
from offline_model.body import Body, parsed, read_body
from offline_model.chat.answer import Answer, answer_of, given_answer, one_token_answer, spoilt
from offline_model.chat.requests import ChatRequest, check_tool_results
from offline_model.chat.usage import Measured, Usage, UsageMeter
from offline_model.chat.wire import STREAM_END, chunks, completion, server_sent_event
from offline_model.directives import DirectiveName
from offline_model.errors import requested_status
from offline_model.misbehaviour import Misbehaviour, SeenRequests, misbehaviour_of
from offline_model.playing.casting import Part, part_in

_log = get_logger(__name__)

_MARK = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""A mark is for the log, so it cannot hold words."""


class ChatEndpoint:
    def __init__(self, meter: UsageMeter, worker: Executor, clock: Clock, chunk_delay_seconds: float) -> None:
        """`worker`: one thread that plays and counts, so that long prompts do not hold up the event loop."""
        self._meter = meter
        self._worker = worker
        self._clock = clock
        self._delay = chunk_delay_seconds
        self._seen = SeenRequests()

    async def __call__(self, request: Request) -> Response:
        began_at = self._clock.monotonic()
        body = await read_body(request)
        chat = parsed(ChatRequest, body)
        check_tool_results(chat.messages)
        part = part_in(chat)
        misbehaviour = self._misbehaviour(part, body)
        if misbehaviour.hang:
            return await _hang(request)
        if misbehaviour.status is not None:
            raise requested_status(misbehaviour.status)
        loop = asyncio.get_running_loop()
        answer, measured = await loop.run_in_executor(self._worker, self._answered, chat, body, part, misbehaviour)

        def sent() -> None:
            _log_answer(part, answer, measured.usage, self._clock.monotonic() - began_at)

        return self._response(chat, answer, measured, misbehaviour, sent)

    async def empty_the_cache(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._worker, self._meter.empty_the_cache)

    def _misbehaviour(self, part: Part, body: Body) -> Misbehaviour:
        misbehaviour = misbehaviour_of(part.directives, self._seen.count(body.digest))
        return replace(misbehaviour, malformed_arguments=False) if part.saw_malformed_arguments else misbehaviour

    def _answered(
        self, chat: ChatRequest, body: Body, part: Part, misbehaviour: Misbehaviour
    ) -> tuple[Answer, Measured]:
        """All that takes time; runs on the worker."""
        answer = spoilt(_answer(chat, body, part), misbehaviour)
        return answer, self._meter.measure(chat, body.data.get("tools") or [], answer)

    def _response(
        self,
        chat: ChatRequest,
        answer: Answer,
        measured: Measured,
        misbehaviour: Misbehaviour,
        sent: Callable[[], None],
    ) -> Response:
        pause = max(self._delay, misbehaviour.pause_seconds)
        if chat.stream:
            reported = measured.usage if chat.wants_usage else None
            events = [server_sent_event(chunk) for chunk in chunks(answer, reported, misbehaviour)]
            pieces, media_type = [*events, STREAM_END], "text/event-stream"
        else:
            pieces = [bytes(JSONResponse(completion(answer, measured.usage, misbehaviour)).body)]
            media_type = "application/json"
        return _Stream(self._paced(pieces, pause, misbehaviour.cut, measured), misbehaviour.cut, sent, media_type)

    async def _paced(self, pieces: list[bytes], pause: float, cut: bool, measured: Measured) -> AsyncIterator[bytes]:
        """The last piece comes after the request is on its way into the cache: who has read it will find it there.

        The worker does one thing after the other, so a later request is measured after that, and nobody has to wait.
        """
        *before, last = _first_half(pieces) if cut else pieces
        try:
            for piece in before if pause else filter(None, [b"".join(before)]):
                await self._pause(pause)
                yield piece
            await self._pause(pause)
        finally:
            # Also when the reader left early: the prompt has been read all the same.
            self._worker.submit(measured.keep)
        yield last

    async def _pause(self, seconds: float) -> None:
        if seconds:
            await self._clock.sleep(seconds)


def _answer(chat: ChatRequest, body: Body, part: Part) -> Answer:
    if chat.offline_answer is not None:
        return given_answer(chat.offline_answer, chat.model, body.digest)
    if chat.token_limit == 1:
        return one_token_answer(chat.model, body.digest)
    return answer_of(part.play(), chat.model, body.digest, thinks=chat.thinks)


class _Stream(StreamingResponse):
    """A stream that may be cut: the connection is closed without the end of the body, as when a server dies."""

    def __init__(self, pieces: AsyncIterator[bytes], cut: bool, sent: Callable[[], None], media_type: str) -> None:
        super().__init__(pieces, media_type=media_type, headers={"Cache-Control": "no-cache"})
        self._cut = cut
        self._sent = sent

    async def stream_response(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for piece in self.body_iterator:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        if not self._cut:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        self._sent()


def _first_half(pieces: list[bytes]) -> Iterator[bytes]:
    """Half of the events, or half of the only piece."""
    if len(pieces) == 1:
        yield pieces[0][: len(pieces[0]) // 2]
    else:
        yield from pieces[: len(pieces) // 2]


async def _hang(request: Request) -> Response:
    """Keeps the connection open without a word until the client gives up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    return Response(status_code=499)


def _log_answer(part: Part, answer: Answer, usage: Usage, seconds: float) -> None:
    marks = [each.argument for each in part.directives if each.name is DirectiveName.MARK]
    _log.info(
        "chat.answered",
        part=part.name,
        model=answer.model,
        answer_id=answer.answer_id,
        tool_calls=len(answer.calls),
        finish_reason=answer.finish_reason,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        duration_ms=round(seconds * 1_000, 2),
        mark=marks[0] if marks and _MARK.fullmatch(marks[0]) else None,
    )
