"""A release: what every session shares, L0 and L1. A session keeps the release it started with."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from common.logs import get_logger
from model_client.exact_json import exact_json

_log = get_logger(__name__)


@dataclass(frozen=True)
class Release:
    """`system` is the system message and `tools` the array of tools, both as exact JSON texts."""

    release_id: str
    system: str
    tools: str


def build_release(tool_schemas: Sequence[dict[str, Any]], skill_catalogue: str = "") -> Release:
    """`tool_schemas` in any order: they are sorted by name. The id names the content, so equal bytes are equal
    releases on every machine. L1, the skill catalogue, stands at the end of the system message."""
    ordered = sorted(tool_schemas, key=lambda schema: str(schema["function"]["name"]))
    system = exact_json({"role": "system", "content": system_prompt() + skill_catalogue})
    tools = exact_json(ordered)
    digest = hashlib.sha256(f"{system}\n{tools}".encode()).hexdigest()
    return Release(digest[:16], system, tools)


def system_prompt() -> str:
    """L0's text. A change of it is a new release, and every session that starts later has it."""
    return files("agent.context").joinpath("system_prompt.md").read_text(encoding="utf-8")


class Releases:
    """The releases this process can render. One that it does not know costs its session the cached prefix once."""

    def __init__(self, current: Release, earlier: Sequence[Release] = ()) -> None:
        self.current = current
        self._by_id = {release.release_id: release for release in (*earlier, current)}

    def of_session(self, release_id: str | None) -> Release:
        """The release of a session; the current one for a new session or a release of another deployment."""
        if release_id is None:
            return self.current
        release = self._by_id.get(release_id)
        if release is None:
            _log.info("release.unknown", release=release_id, instead=self.current.release_id)
            return self.current
        return release
