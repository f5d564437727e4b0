"""One stack per set of files; other terminals find it while it runs, and only then."""

from pathlib import Path

import pytest

from devstack.errors import StackError
from devstack.local_files import LocalFiles, RunningStack
from devstack.run import LogFollower

_RUNNING = RunningStack("http://127.0.0.1:1", {"REDIS_URL": "redis://somewhere"})


def test_a_second_stack_on_the_same_files_is_refused(tmp_path: Path) -> None:
    files = LocalFiles.under(tmp_path / "local")
    with files.locked(), pytest.raises(StackError, match="already running"), files.locked():
        pass
    with files.locked():
        pass


def test_a_running_stack_is_found_while_it_runs(tmp_path: Path) -> None:
    files = LocalFiles.under(tmp_path / "local")
    assert files.running() is None
    with files.locked(), files.announced(_RUNNING):
        assert files.running() == _RUNNING
        assert (files.directory / "run.json").stat().st_mode & 0o077 == 0
    assert files.running() is None


def test_what_a_killed_stack_announced_is_not_believed(tmp_path: Path) -> None:
    files = LocalFiles.under(tmp_path / "local")
    with files.locked():
        announced = files.announced(_RUNNING)
        announced.__enter__()
    assert (files.directory / "run.json").exists()
    assert files.running() is None
    announced.__exit__(None, None, None)


def test_removing_the_demo_keeps_the_catalogue(tmp_path: Path) -> None:
    files = LocalFiles.under(tmp_path / "local")
    demo = files.demo()
    demo.secrets()
    demo.catalogue.mkdir(parents=True)
    demo.remove()
    assert not demo.directory.exists()
    assert files.catalogue.exists()


def test_logs_are_followed_from_now_on_and_by_whole_lines(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_text("before\n")
    follower = LogFollower(tmp_path)
    with log.open("a") as writing:
        writing.write("one\ntw")
    assert list(follower.new_lines()) == [("agent", "one")]
    with log.open("a") as writing:
        writing.write("o\n")
    (tmp_path / "memory.log").write_text("started later\n")
    assert list(follower.new_lines()) == [("agent", "two"), ("memory", "started later")]
    assert list(follower.new_lines()) == []
