"""`python -m gateway serve`: run the gateway with settings from the environment."""

import argparse
import asyncio
from contextlib import suppress

from common.logs import configure_logs, get_logger
from gateway.app import create_app
from gateway.server import GatewayServer, listening_socket
from gateway.settings import GatewaySettings

_log = get_logger("gateway")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gateway", description="The public edge of ShoppingX")
    parser.add_subparsers(dest="command", required=True).add_parser("serve", help="serve HTTP")
    parser.parse_args()
    serve(GatewaySettings())


def serve(settings: GatewaySettings) -> None:
    configure_logs("gateway", settings.log_level, settings.log_format)
    _log.info("service.starting", **settings.redacted())
    server = GatewayServer(create_app(settings), settings)
    listening = listening_socket(settings.host, settings.port)
    _log.info("service.listening", port=listening.getsockname()[1])
    with suppress(KeyboardInterrupt):  # Ctrl-C, raised again by the server once it has stopped
        asyncio.run(server.serve(sockets=[listening]))
    _log.info("service.stopped")


if __name__ == "__main__":
    main()
