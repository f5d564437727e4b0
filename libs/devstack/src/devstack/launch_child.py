"""Start a program that cannot outlive the process that started it.

Run as a file (it needs the standard library only, so it starts without site packages):

    python -I -S launch_child.py --parent PID --signal NUMBER [--uid UID --gid GID] -- COMMAND...

It asks the kernel to send NUMBER to this process when the parent ends, however it ends, and becomes COMMAND.
Doing this here, and not in a `preexec_fn`, keeps it safe for parents that have threads. Two traps, both
handled: changing the user forgets the request, so it is made afterwards; and a parent that is already gone
sends nothing, so it is looked for once more. The kernel watches the *thread* that started us: start children
from the main one.

Only Linux knows this request. Elsewhere children end with a parent that stops in order, not with one that is
killed.
"""

import argparse
import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--signal", type=int, required=True)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    if options.uid is not None:
        become(options.uid, options.gid)
    if sys.platform == "linux":
        die_with_parent(options.parent, options.signal)
    os.execv(options.command[0], options.command)


def become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def die_with_parent(parent: int, signal_number: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        raise SystemExit("the parent has already ended")


if __name__ == "__main__":
    main(sys.argv[1:])
