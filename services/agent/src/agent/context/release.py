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
    """`tools` is the array of tools and `system` the system message, both as exact JSON texts.

    The system message ends with the skill catalogue. It is one text in a request and two for the probe:
    `system_prompt` (L0) and `skill_catalogue` (L1), which make `system` when they stand together.
    """

    release_id: str
    tools: str
    system: str
    system_prompt: str
    skill_catalogue: str

    @property
    def layers(self) -> tuple[tuple[str, str], ...]:
        """The texts in the order of the layers."""
        return ("L0", self.tools), ("L0", self.system_prompt), ("L1", self.skill_catalogue)


def build_release(tool_schemas: Sequence[dict[str, Any]], skill_catalogue: str = "") -> Release:
    """`tool_schemas` in any order: they are sorted by name. The id names the content, so equal bytes are equal
    releases on every machine."""
    ordered = sorted(tool_schemas, key=lambda schema: str(schema["function"]["name"]))
    tools = exact_json(ordered)
    # JSON escapes character by character, so the message is the same as if it had been written in one piece.
    head = exact_json({"role": "system", "content": system_prompt()}).removesuffix('"}')
    tail = exact_json({"content": skill_catalogue}).removeprefix('{"content":"')
    digest = hashlib.sha256(f"{head}{tail}\n{tools}".encode()).hexdigest()
    return Release(digest[:16], tools, head + tail, head, tail)


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
