"""`make chaos`: 2,000 turns of 100 users over two replicas of each service, while everything around them is broken.

Processes are killed, also at the registered crash points; PostgreSQL and Valkey are restarted, Valkey is emptied;
connections are delayed, reset, cut and refused; the model does everything it can do wrong. The schedule is made from
SEED. Logs stay in .local/chaos. The last line is JSON; the exit code is 1 where a promise (`broken`) was not kept.
"""

import argparse
import asyncio
import json
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.chaos.storm.run import FULL, SMALL, run_storm

from devstack.servers.operating_user import remove_directory

DIRECTORY = Path(".local/chaos").absolute()


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", choices=["full", "small"], default="full")
    parser.add_argument("--turns", type=int, help="instead of the scale's; a multiple of the users")
    arguments = parser.parse_args()
    scale = FULL if arguments.scale == "full" else SMALL
    scale = replace(scale, turns=arguments.turns or scale.turns)
    _remove(DIRECTORY)
    began_at = time.monotonic()
    try:
        result = asyncio.run(run_storm(scale, arguments.seed, DIRECTORY, lambda line: _say(line, began_at)))
    finally:
        remove_directory(DIRECTORY / "postgres")  # the logs stay
    print(json.dumps(result, ensure_ascii=False))
    return 1 if result["broken"] else 0


def _say(line: str, began_at: float) -> None:
    print(f"  {time.monotonic() - began_at:6.1f} s  {line}", flush=True)


def _remove(directory: Path) -> None:
    remove_directory(directory / "postgres")
    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
