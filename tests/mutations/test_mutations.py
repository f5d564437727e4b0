"""Whoever takes away a line that keeps a promise sees a named test fail: so the tests that guard the promises work.

Each mutation is made in a copy of its package that stands before the real one on the path of a pytest of its own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.mutations.mutations import MUTATIONS, REPOSITORY, Mutation

pytestmark = pytest.mark.mutation

Run = Callable[[Path, Sequence[str]], "Outcome"]


@dataclass(frozen=True)
class Outcome:
    exit_code: int
    output: str


@pytest.fixture
def run(postgres: str, valkey: str) -> Run:
    """Runs tests in a process of their own, on this one's servers, with sources that stand before the real ones."""

    def run_tests(sources: Path, tests: Sequence[str]) -> Outcome:
        environment = {**os.environ, "TEST_DATABASE_URL": postgres, "TEST_REDIS_URL": valkey}
        environment |= {"PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"}
        for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "TEST_SERVERS"):
            environment.pop(name, None)
        command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--tb=line", *tests]
        ended = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
        return Outcome(ended.returncode, ended.stdout + ended.stderr)

    return run_tests


def copy_of(packages: Sequence[str], to: Path) -> Path:
    for package in packages:
        shutil.copytree(REPOSITORY / package, to, dirs_exist_ok=True)  # with times, so compiled files still count
    return to


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_the_line_stands_where_it_is_looked_for(mutation: Mutation) -> None:
    assert mutation.path.read_text(encoding="utf-8").count(mutation.text) == 1


def test_the_named_tests_pass_on_an_unchanged_copy(run: Run, tmp_path: Path) -> None:
    tests = sorted({mutation.test for mutation in MUTATIONS})
    outcome = run(copy_of(sorted({mutation.package for mutation in MUTATIONS}), tmp_path), tests)
    assert outcome.exit_code == pytest.ExitCode.OK, outcome.output
    assert [test for test in tests if f"PASSED {test}" not in outcome.output] == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.name)
def test_its_removal_is_noticed(run: Run, tmp_path: Path, mutation: Mutation) -> None:
    copied = copy_of([mutation.package], tmp_path) / mutation.file
    copied.write_text(mutation.path.read_text(encoding="utf-8").replace(mutation.text, mutation.instead))
    outcome = run(tmp_path, [mutation.test])
    assert outcome.exit_code == pytest.ExitCode.TESTS_FAILED, outcome.output
    assert f"FAILED {mutation.test}" in outcome.output, "an error is not a failed promise\n" + outcome.output
