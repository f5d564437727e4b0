"""An event stream as an ASGI response that notices when its client leaves or no longer reads."""

import asyncio
from collections.abc import AsyncGenerator

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from common.logs import get_logger

MEDIA_TYPE = "text/event-stream"

_HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",  # a proxy that buffers would hold events back
}

_log = get_logger(__name__)


class EventStreamResponse(Response):
    media_type = MEDIA_TYPE

    def __init__(self, chunks: AsyncGenerator[bytes, None], send_timeout_seconds: float) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._chunks = chunks
        self._send_timeout = send_timeout_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self._send_all(send))
        leaving = asyncio.create_task(_client_leaves(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sending.cancel()
            leaving.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await self._chunks.aclose()
        if not sending.cancelled():
            sending.result()

    async def _send_all(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        try:
            async for chunk in self._chunks:
                async with asyncio.timeout(self._send_timeout):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            _log.info("events.client_does_not_read")
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _client_leaves(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
