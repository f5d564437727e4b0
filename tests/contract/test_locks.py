"""The locks of single services are cut out of `requirements.lock`: the same versions, the same files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = sorted(
    path.relative_to(ROOT)
    for pattern in ("services/*/requirements.lock", "libs/*/requirements.lock", "deploy/images/*.lock", "tests/*.lock")
    for path in ROOT.glob(pattern)
)

_PIN = re.compile(r"^([a-zA-Z0-9._-]+)==(\S+)")
_HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")


def pins(lock: Path) -> dict[str, tuple[str, frozenset[str]]]:
    """Version and hashes by distribution."""
    versions: dict[str, str] = {}
    hashes: dict[str, set[str]] = {}
    name = ""
    for line in lock.read_text().splitlines():
        if pin := _PIN.match(line):
            name, versions[name] = pin.group(1), pin.group(2)
        elif found := _HASH.search(line):
            hashes.setdefault(name, set()).add(found.group(1))
    return {name: (version, frozenset(hashes[name])) for name, version in versions.items()}


def test_every_image_has_a_lock() -> None:
    assert {str(path.parent) for path in PARTS} == {
        "deploy/images", "libs/offline_model", "services/agent", "services/curator", "services/gateway",
        "services/memory", "tests",
    }  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_a_part_agrees_with_the_whole(part: Path) -> None:
    whole, listed = pins(ROOT / "requirements.lock"), pins(ROOT / part)
    assert listed
    assert {name: pin for name, pin in listed.items() if whole.get(name) != pin} == {}


def test_a_service_has_nothing_of_another() -> None:
    """The gateway talks to no model, and only memory talks to PostgreSQL."""
    installed = {path.parent.name: set(pins(ROOT / path)) for path in PARTS}
    for service in ("gateway", "memory"):
        assert not {"openai", "qdrant-client", "numpy"} & installed[service]
    for service in ("gateway", "agent", "curator", "offline_model"):
        assert not {"sqlalchemy", "asyncpg", "alembic"} & installed[service]
