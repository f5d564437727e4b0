"""`python -m agent serve` works on turns; `python -m agent build-catalogue` builds the catalogue's vectors once."""

import argparse
import asyncio
import sys

from pydantic import ValidationError

from agent.app import build_catalogue, serve
from agent.catalogue.errors import CatalogueError
from agent.settings import AgentSettings, CatalogueSettings
from common.logs import configure_logs, get_logger
from common.process.run import run_process
from common.telemetry.metrics import Metrics
from common.telemetry.table import AGENT

_log = get_logger(__name__)


def main() -> int:
    parser = argparse.ArgumentParser(prog="agent", description=__doc__)
    parser.add_argument("command", choices=["serve", "build-catalogue"])
    command = parser.parse_args().command
    try:
        return _serve() if command == "serve" else _build_catalogue()
    except ValidationError as error:
        print(f"settings are not valid:\n{error}", file=sys.stderr)
        return 2
    except CatalogueError as error:
        print(f"catalogue: {error}", file=sys.stderr)
        return 1


def _serve() -> int:
    settings = AgentSettings()
    configure_logs("agent", settings.log_level, settings.log_format)
    _log.info("process.starting", **settings.redacted())
    metrics = Metrics(AGENT)
    return run_process(AGENT, settings, metrics, lambda: serve(settings, metrics))


def _build_catalogue() -> int:
    settings = CatalogueSettings()
    configure_logs("agent", settings.log_level, settings.log_format)
    outcome = asyncio.run(build_catalogue(settings))
    _log.info("catalogue.ready", products=outcome.products, built=outcome.built, index=outcome.fingerprint)
    return 0


if __name__ == "__main__":
    sys.exit(main())
