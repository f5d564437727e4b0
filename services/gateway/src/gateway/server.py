"""The HTTP server: its socket, and a shutdown that lets event streams end instead of waiting for them."""

import socket

from fastapi import FastAPI

from common.process.web_server import WebServer
from gateway.dependencies import Components
from gateway.settings import GatewaySettings

_BACKLOG = 2_048
_STALLED_CLIENT_MILLISECONDS = 60_000
_CLOSING_SECONDS = 3.0


def listening_socket(host: str, port: int) -> socket.socket:
    """Port 0 is any free one. Connections inherit that a peer which takes nothing for a minute is cut off."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    # The event loop sets this only for sockets it opened itself; without it each answer waits 40 ms for an ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STALLED_CLIENT_MILLISECONDS)
    return listening


class GatewayServer(WebServer):
    def __init__(self, app: FastAPI, settings: GatewaySettings) -> None:
        components = app.state.components
        assert isinstance(components, Components)
        super().__init__(
            app,
            finish_seconds=settings.shutdown_seconds,
            stop_seconds=settings.shutdown_seconds + _CLOSING_SECONDS,
            begin_stopping=components.readiness.begin_closing,
        )
