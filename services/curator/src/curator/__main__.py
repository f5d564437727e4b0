"""`python -m curator serve` curates finished turns."""

import argparse
import sys

from pydantic import ValidationError

from common.logs import configure_logs, get_logger
from common.process.run import run_process
from common.telemetry.metrics import Metrics
from common.telemetry.table import CURATOR
from curator.app import serve
from curator.settings import CuratorSettings

_log = get_logger(__name__)


def main() -> int:
    parser = argparse.ArgumentParser(prog="curator", description=__doc__)
    parser.add_argument("command", choices=["serve"])
    parser.parse_args()
    try:
        settings = CuratorSettings()
    except ValidationError as error:
        print(f"settings are not valid:\n{error}", file=sys.stderr)
        return 2
    configure_logs("curator", settings.log_level, settings.log_format)
    _log.info("process.starting", **settings.redacted())
    metrics = Metrics(CURATOR)
    return run_process(CURATOR, settings, metrics, lambda: serve(settings, metrics))


if __name__ == "__main__":
    sys.exit(main())
