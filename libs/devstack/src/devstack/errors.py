"""What can go wrong while the stack starts. None of it is worth a retry without looking at the cause."""

from pathlib import Path

_SHOWN_LINES = 25


class StackError(Exception):
    """The stack cannot do what was asked; the message is for the person at the terminal."""


class StartFailed(StackError):
    """A process ended or did not become ready in time."""

    def __init__(self, name: str, why: str, log_file: Path) -> None:
        super().__init__(f"{name} {why}; its log is {log_file}\n{_last_lines(log_file)}")


def _last_lines(log_file: Path) -> str:
    try:
        lines = log_file.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(f"  | {line}" for line in lines[-_SHOWN_LINES:])
