"""`python -m common.telemetry` prints docs/metrics.md."""

import sys

from common.telemetry.documentation import page

if __name__ == "__main__":
    sys.stdout.write(page())
