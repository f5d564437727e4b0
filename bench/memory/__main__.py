"""What long-term memory can be trusted with: `make eval-memory`. The last line of the output is JSON.

Each part measures one promise and brings keys of its own; `--parts` chooses some of them:

{parts}

Parts that need the evaluation data (`SHARED_DATA`, by default ../shared/data beside the repository) are left out where
it is missing, and named in `left_out`.
"""

import argparse
import asyncio
import json
import os
import platform
from typing import Any

from bench.memory.aims import aims_met
from bench.memory.parts import PARTS
from bench.memory.shared_data import DataMissingError


async def measure(names: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name in names:
        print(f"# {name}", flush=True)
        try:
            result |= await PARTS[name].measure()
        except DataMissingError as missing:
            left_out[name] = str(missing)
    result["left_out"] = left_out
    result["against"] = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    result["aims_met"] = aims_met(result, {path: aim for name in names for path, aim in PARTS[name].aims.items()})
    return result


def main() -> None:
    described = "\n".join(f"- {name}: {part.tells}" for name, part in PARTS.items())
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").format(parts=described), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), metavar="PART")
    result = asyncio.run(measure(parser.parse_args().parts))
    print(json.dumps(result, indent=2, ensure_ascii=False))
    print(json.dumps(result, separators=(",", ":")))


if __name__ == "__main__":
    main()
