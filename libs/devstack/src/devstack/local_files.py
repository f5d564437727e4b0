"""Where an installation keeps its files, all under one directory (`.local`, for the demo `.local/demo`)."""

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from devstack.errors import StackError
from devstack.secrets import Secrets, load_secrets, master_key_file
from devstack.servers.operating_user import remove_directory
from devstack.tokens import SigningKeys


@dataclass(frozen=True)
class RunningStack:
    """What another terminal needs to know to join a running stack. Holds secrets, like the file it is kept in."""

    gateway_url: str
    memory_environment: dict[str, str]


@dataclass(frozen=True)
class LocalFiles:
    """`catalogue` is apart: building its vectors takes seconds, and they are the same for every installation."""

    directory: Path
    catalogue: Path

    @classmethod
    def under(cls, local_directory: Path) -> "LocalFiles":
        directory = local_directory.absolute()
        return cls(directory, directory / "catalogue")

    def demo(self) -> "LocalFiles":
        return LocalFiles(self.directory / "demo", self.catalogue)

    @property
    def postgres(self) -> Path:
        return self.directory / "postgres"

    @property
    def valkey(self) -> Path:
        return self.directory / "valkey"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def keys(self) -> Path:
        return self.directory / "keys"

    def secrets(self) -> Secrets:
        return load_secrets(self.directory / "secrets.json")

    def signing_keys(self) -> SigningKeys:
        return SigningKeys.in_directory(self.keys)

    def memory_master_key(self) -> Path:
        return master_key_file(self.keys / "memory-master.key")

    def remove(self) -> None:
        """Remove everything of this installation, except a catalogue that is kept elsewhere."""
        remove_directory(self.postgres)
        shutil.rmtree(self.directory, ignore_errors=True)

    def remove_logs(self) -> None:
        shutil.rmtree(self.logs, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held while a stack runs on these files; the system lets go of it however we end."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._lock_file.open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StackError(f"A stack is already running on {self.directory}") from None
            yield

    @contextmanager
    def announced(self, running: RunningStack) -> Iterator[None]:
        """Others find the stack while this lasts."""
        file = self._run_file
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(json.dumps(asdict(running), indent=2))
        try:
            yield
        finally:
            file.unlink(missing_ok=True)

    def running(self) -> RunningStack | None:
        """The stack that runs on these files, if one does."""
        with suppress(FileNotFoundError, ValueError, TypeError):
            if self._is_locked():
                return RunningStack(**json.loads(self._run_file.read_text()))
        return None

    def _is_locked(self) -> bool:
        with self._lock_file.open("r") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    @property
    def _lock_file(self) -> Path:
        return self.directory / "run.lock"

    @property
    def _run_file(self) -> Path:
        return self.directory / "run.json"
