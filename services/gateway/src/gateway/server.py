"""The HTTP server: its socket, and a shutdown that lets event streams end instead of waiting for them."""

import socket

import uvicorn
from fastapi import FastAPI

from gateway.dependencies import Components
from gateway.settings import GatewaySettings

_BACKLOG = 2_048
_STALLED_CLIENT_MILLISECONDS = 60_000


def listening_socket(host: str, port: int) -> socket.socket:
    """Port 0 is any free one. Connections inherit that a peer which takes nothing for a minute is cut off."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # The event loop sets this only for sockets it opened itself; without it each answer waits 40 ms for an ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_CLIENT_MILLISECONDS)
    return listening


class GatewayServer(uvicorn.Server):
    def __init__(self, app: FastAPI, settings: GatewaySettings) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                access_log=False,
                log_config=None,
                server_header=False,
                lifespan="on",
                ws="none",
                timeout_graceful_shutdown=settings.shutdown_seconds,
            )
        )
        components = app.state.components
        assert isinstance(components, Components)
        self._readiness = components.readiness

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._readiness.begin_closing()
        await super().shutdown(sockets)
