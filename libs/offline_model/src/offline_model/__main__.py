"""Command line: `python -m offline_model serve`."""

import argparse

import uvicorn

from common.logs import configure_logs, get_logger
from offline_model.app import build_app
from offline_model.settings import OfflineModelSettings

_GRACE_SECONDS = 2
"""How long a stop waits for open answers; a hanging one, asked for by a test, never ends by itself."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="offline_model", description="An OpenAI-compatible model without a network")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="answer on HOST and PORT until stopped")
    parser.parse_args()
    serve(OfflineModelSettings())


def serve(settings: OfflineModelSettings) -> None:
    configure_logs("offline_model", settings.log_level, settings.log_format)
    get_logger(__name__).info("service.starting", **settings.redacted())
    uvicorn.run(
        build_app(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )


if __name__ == "__main__":
    main()
