"""`python -m gateway serve`: run the gateway with settings from the environment; `openapi` prints the API."""

import argparse
import json
import sys

from common.logs import configure_logs, get_logger
from common.process.run import run_process
from common.process.web_server import serve_until_stopped
from common.telemetry.metrics import Metrics
from common.telemetry.table import GATEWAY
from gateway.app import create_app, gateway_openapi
from gateway.server import GatewayServer, listening_socket
from gateway.settings import GatewaySettings

_log = get_logger("gateway")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gateway", description="The public edge of ShoppingX")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="serve HTTP")
    commands.add_parser("openapi", help="print the description of the public API")
    if parser.parse_args().command == "openapi":
        print(json.dumps(gateway_openapi(), indent=2, ensure_ascii=False))
        return 0
    return serve(GatewaySettings())


def serve(settings: GatewaySettings) -> int:
    """Serve until SIGTERM; returns the exit code."""
    configure_logs("gateway", settings.log_level, settings.log_format)
    _log.info("service.starting", **settings.redacted())
    metrics = Metrics(GATEWAY)
    server = GatewayServer(create_app(settings, metrics=metrics), settings)
    listening = listening_socket(settings.host, settings.port)
    _log.info("service.listening", port=listening.getsockname()[1])
    return run_process(GATEWAY, settings, metrics, lambda: serve_until_stopped(server, [listening]))


if __name__ == "__main__":
    sys.exit(main())
