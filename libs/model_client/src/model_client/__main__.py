"""`python -m model_client` prints docs/providers.md."""

import sys

from model_client.documentation import page

if __name__ == "__main__":
    sys.stdout.write(page())
