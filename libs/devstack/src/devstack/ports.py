"""Free loopback ports for processes that are told their port when they start."""

import random
import socket

LOOPBACK = "127.0.0.1"

# Below the range from which the kernel takes the ports of outgoing connections (32768 and up on Linux), so
# that nothing takes a port by chance between our look and the start of the process, or while it restarts.
_CANDIDATES = range(20_000, 32_000)
_handed_out: set[int] = set()


def free_port() -> int:
    """A port nobody listens on, and that this process has not handed out before.

    Tried in another order every time, so that two stacks starting at once do not want the same ports.
    """
    return next(port for port in random.sample(_CANDIDATES, k=len(_CANDIDATES)) if _take(port))


def _take(port: int) -> bool:
    if port in _handed_out:
        return False
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    _handed_out.add(port)
    return True
