"""Where the evaluation data is. It belongs to others and stays out of the repository."""

import json
import os
from pathlib import Path
from typing import Any

_BESIDE_THE_REPOSITORY = Path(__file__).parents[3] / "shared/data"


class DataMissingError(Exception):
    """A file of the evaluation data is not there."""


def shared_data(name: str) -> Path:
    path = Path(os.environ.get("SHARED_DATA") or _BESIDE_THE_REPOSITORY) / name
    if not path.is_file():
        raise DataMissingError(f"{name} is not in SHARED_DATA or ../shared/data")
    return path


def json_lines(name: str) -> list[dict[str, Any]]:
    with shared_data(name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]
