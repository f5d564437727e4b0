"""The registry of crash points: nothing dies unless it is armed, and an armed point kills once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.crash_points import CrashPoint, CrashPoints

DYING = (
    "from common.crash_points import CrashPoint, CrashPoints;"
    "points = CrashPoints.from_environment();"
    "points.reach(CrashPoint.AGENT_CLAIMED); points.reach(CrashPoint.AGENT_FINISHED); print('alive')"
)


def run(point: CrashPoint | None, fuse: Path | None) -> subprocess.CompletedProcess[str]:
    armed = {"CRASH_POINT": str(point or ""), "CRASH_FUSE": str(fuse or "")}
    return subprocess.run(
        [sys.executable, "-c", DYING], env={**os.environ, **armed}, capture_output=True, text=True, check=False
    )


def test_nothing_is_armed_by_itself() -> None:
    assert run(None, None).stdout == "alive\n"


def test_an_armed_point_kills_the_process_once(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    fuse.touch()
    died = run(CrashPoint.AGENT_FINISHED, fuse)
    assert (died.returncode, died.stdout) == (-9, "")
    assert not fuse.exists()
    assert run(CrashPoint.AGENT_FINISHED, fuse).stdout == "alive\n", "the restarted process lives"


def test_an_unknown_point_is_told_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRASH_POINT", "agent.nowhere")
    monkeypatch.setenv("CRASH_FUSE", "/nowhere")
    with pytest.raises(ValueError, match=r"agent\.nowhere"):
        CrashPoints.from_environment()
