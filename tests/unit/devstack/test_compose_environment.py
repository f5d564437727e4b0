"""`make up` gives docker-compose.yml every variable it insists on, and nobody else may read them."""

import re
import stat
from pathlib import Path

from devstack.compose.environment import compose_environment, key_files, write_environment
from devstack.compose.system import ROOT, ComposeSystem
from devstack.local_files import LocalFiles
from devstack.settings import DevstackSettings

_REQUIRED = re.compile(r"\$\{([A-Z_]+):\?")
_SECRET = re.compile(r"PASSWORD|TOKEN(?!S_PER_)|KEY")  # how many tokens a model may cost is no secret
_DEFAULTED = re.compile(r"\$\{([A-Z_]+):-")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def compose_text() -> str:
    return (ROOT / "docker-compose.yml").read_text()


def environment_of(files: LocalFiles, **given: object) -> dict[str, str]:
    keys = key_files(files, files.directory / "compose")
    return compose_environment(DevstackSettings.model_validate(given), files.secrets(), keys, 8080)


def test_every_variable_that_is_required_is_given(tmp_path: Path) -> None:
    required = set(_REQUIRED.findall(compose_text()))
    given = environment_of(LocalFiles.under(tmp_path))
    assert len(required) >= 13
    assert required <= {name for name, value in given.items() if value}


def test_no_secret_has_a_default() -> None:
    assert [name for name in _DEFAULTED.findall(compose_text()) if _SECRET.search(name)] == []


def test_secrets_are_made_once_and_kept_private(tmp_path: Path) -> None:
    files = LocalFiles.under(tmp_path / "local")
    for _ in range(2):
        ComposeSystem.prepared(DevstackSettings(), files)
    file = files.directory / "compose" / "environment"
    first = file.read_text()
    assert mode(file) == 0o600
    assert mode(file.parent) == 0o700, "the keys in it may be read by anybody who gets that far"
    assert mode(file.parent / "memory-master.key") == 0o444
    ComposeSystem.prepared(DevstackSettings(), files)
    assert file.read_text() == first


def test_a_real_model_replaces_the_offline_one_but_for_embeddings(tmp_path: Path) -> None:
    files = LocalFiles.under(tmp_path)
    given = environment_of(files, model_base_url="http://real/v1", model_api_key="key", model_main="big")
    assert (given["MODEL_BASE_URL"], given["MODEL_FAST"]) == ("http://real/v1", "big")
    assert given["EMBEDDING_BASE_URL"] == "http://offline-model:8080/v1"


def test_an_environment_file_is_one_assignment_per_line(tmp_path: Path) -> None:
    write_environment(tmp_path / "environment", {"A": "1", "B": "two"})
    assert (tmp_path / "environment").read_text() == "A=1\nB=two\n"
