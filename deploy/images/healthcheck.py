"""The health check of every image: exit code 0 when `/readyz` of the service in this container answers 200.

It runs every few seconds in every container, so it imports next to nothing.
"""

import os
import socket
import sys

_SECONDS = 3.0


def main() -> int:
    address = ("127.0.0.1", int(os.environ["PORT"]))
    try:
        with socket.create_connection(address, timeout=_SECONDS) as connection:
            connection.sendall(b"GET /readyz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            status_line = connection.recv(64)
    except OSError:
        return 1
    return 0 if status_line.split(b" ", 2)[1:2] == [b"200"] else 1


if __name__ == "__main__":
    sys.exit(main())
