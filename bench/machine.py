"""What processes cost, read from /proc: CPU time and resident memory."""

import os
from collections.abc import Mapping
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(processes: Mapping[str, int]) -> dict[str, float]:
    """Seconds of user and system time of each process and its children, also of children that have ended."""
    trees = _trees(processes)
    return {name: sum(_cpu_seconds(pid) for pid in pids) for name, pids in trees.items()}


def busy_cpu() -> float:
    """Seconds that all cores together have spent on anything since the machine started."""
    user, nice, system, _idle, _waiting, *others = (int(ticks) for ticks in _cpu_line()[1:8])
    return sum((user, nice, system, *others)) / _TICKS


def rss_of(processes: Mapping[str, int]) -> dict[str, float]:
    """Megabytes that each process itself holds now, without its children."""
    return {name: _status(pid).get("VmRSS", 0) / 1_024 for name, pid in processes.items()}


def peak_rss_of(processes: Mapping[str, int]) -> dict[str, float]:
    """Megabytes. For a single process its highest resident memory. For one with children (PostgreSQL) what they hold
    now, each one's own and once what they share."""
    peaks: dict[str, float] = {}
    for name, pids in _trees(processes).items():
        states = [_status(pid) for pid in pids]
        if len(pids) == 1:
            peaks[name] = states[0].get("VmHWM", 0) / 1_024
        else:
            own = sum(state.get("RssAnon", 0) for state in states)
            shared = max(state.get("RssFile", 0) + state.get("RssShmem", 0) for state in states)
            peaks[name] = (own + shared) / 1_024
    return peaks


def _trees(processes: Mapping[str, int]) -> dict[str, list[int]]:
    parents = {pid: parent for pid in _all_pids() if (parent := _parent(pid)) is not None}

    def tree(root: int) -> list[int]:
        return [root, *(pid for child in parents if parents[child] == root for pid in tree(child))]

    return {name: [pid] if pid == os.getpid() else tree(pid) for name, pid in processes.items()}


def _cpu_line() -> list[str]:
    return Path("/proc/stat").read_text().split("\n", 1)[0].split()


def _all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """The fields behind the command's name; none where the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _parent(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _cpu_seconds(pid: int) -> float:
    fields = _stat(pid)
    # User and system time of its own, for ourselves (whose children are measured apart) no more than that.
    wanted = (11, 12) if pid == os.getpid() else (11, 12, 13, 14)
    return sum(int(fields[at]) for at in wanted) / _TICKS if fields else 0.0


def _status(pid: int) -> dict[str, int]:
    """The sizes of /proc/PID/status, in kilobytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {
        name: int(value.split()[0])
        for name, _, value in (line.partition(":") for line in lines)
        if value.strip().endswith("kB")
    }
