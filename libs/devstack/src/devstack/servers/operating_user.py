"""PostgreSQL refuses to run as root. Where we are root, it runs as the system's user `nobody`, and its files
must lie where that user can reach them.

A clone under /root, or an environment that was made with a strict umask, is closed to other users. Opening it
(the wheel's own starter makes every parent directory readable for all) is not ours to do, so in that case the
files go to a directory of root's under /var/tmp, and a symbolic link stands where they were expected.
"""

import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devstack.errors import StackError

_USER_NAME = "nobody"
_OUTSIDE = Path("/var/tmp")


@dataclass(frozen=True)
class OperatingUser:
    """A user of the operating system."""

    uid: int
    gid: int


def server_user() -> OperatingUser | None:
    """Who the database server runs as; None means as ourselves."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(_USER_NAME)
    return OperatingUser(entry.pw_uid, entry.pw_gid)


def owned_directory(wanted: Path, user: OperatingUser | None) -> Path:
    """A directory that `user` owns and reaches: `wanted` itself, or where a link at `wanted` points to."""
    wanted = wanted.absolute()
    if user is None:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    place = wanted if _open_to_others(wanted.parent) else _linked(wanted)
    place.mkdir(mode=0o700, exist_ok=True)
    os.chown(place, user.uid, user.gid)
    if place != wanted and not wanted.is_symlink():
        wanted.symlink_to(place)
    return place


def reachable_copy(base: Path, parts: Sequence[str], user: OperatingUser | None) -> Path:
    """`base` itself where `user` reaches all of its `parts`, else a directory with a copy of them.

    They are copied together because programs find their libraries by the way from one to the other.
    """
    if user is None or all(_whole_tree_open(base / part) for part in parts):
        return base
    newest = max((base / part).stat().st_mtime_ns for part in parts)
    copy = _outside(base) / f"copy-{newest}"
    if not copy.exists():
        unfinished = copy.with_name(f"{copy.name}.{os.getpid()}")
        for part in parts:
            shutil.copytree(base / part, unfinished / part, symlinks=True, copy_function=shutil.copy)
        _open_tree(unfinished)
        unfinished.rename(copy)
    return copy


def remove_copies(base: Path) -> None:
    """Remove what `reachable_copy` made of `base`, if it did."""
    if os.geteuid() == 0:
        shutil.rmtree(_outside(base), ignore_errors=True)


def remove_directory(wanted: Path) -> None:
    """Remove what `owned_directory` made, wherever it lies."""
    wanted = wanted.absolute()
    if wanted.is_symlink():
        shutil.rmtree(wanted.resolve().parent, ignore_errors=True)
        wanted.unlink()
    else:
        shutil.rmtree(wanted, ignore_errors=True)


def _linked(wanted: Path) -> Path:
    """Where the link at `wanted` points to; a new directory without one. What lies outside without a link belonged to
    a clone that was here before: the passwords for it have gone with the link."""
    outside = _outside(wanted)
    if wanted.is_symlink():
        return outside / wanted.readlink().name
    return Path(tempfile.mkdtemp(prefix="data-", dir=outside))


def _open_to_others(path: Path) -> bool:
    """Whether everyone may read and enter `path` and enter all its parents."""
    resolved = path.resolve()
    if not _allows(resolved, stat.S_IROTH | stat.S_IXOTH):
        return False
    return all(_allows(parent, stat.S_IXOTH) for parent in resolved.parents)


def _whole_tree_open(root: Path) -> bool:
    return _open_to_others(root) and all(
        _allows(path, stat.S_IROTH | stat.S_IXOTH if path.is_dir() else stat.S_IROTH) for path in root.rglob("*")
    )


def _allows(path: Path, bits: int) -> bool:
    return path.stat().st_mode & bits == bits


def _outside(path: Path) -> Path:
    """A directory of root's for what belongs at `path`. As others may write to /var/tmp, it is inspected."""
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    directory = _OUTSIDE / f"shoppingx-{name}"
    directory.mkdir(mode=0o755, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != 0 or found.st_mode & 0o022:
        raise StackError(f"{directory} exists but is not a directory that only root can write to")
    directory.chmod(0o755)
    return directory


def _open_tree(root: Path) -> None:
    """Everyone may read what is in it, and run what root may run."""
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(0o755 if mode & stat.S_IXUSR else 0o644)
