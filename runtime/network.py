"""Ports and sockets of this machine."""

import http.client
import socket
from pathlib import Path

from runtime.console import Failure

HOST = "127.0.0.1"
TRIES = 100
BACKLOG = 512


def listen(port: int) -> socket.socket:
    """A listening socket on `port`, or on the next one that is free."""
    for candidate in range(port, min(port + TRIES, 65536)):
        door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind((HOST, candidate))
            door.listen(BACKLOG)
        except OSError:
            door.close()
        else:
            return door
    raise Failure(f"No port from {port} on is free, or this account may not use them.")


def port_of(door: socket.socket) -> int:
    port: int = door.getsockname()[1]
    return port


def free_port(port: int) -> int:
    """`port`, or the next one that is free at this moment."""
    with listen(port) as door:
        return port_of(door)


def answers(port: int, path: str) -> bool:
    """Whether a web server on this machine answers the path without an error of its own."""
    connection = http.client.HTTPConnection(HOST, port, timeout=0.5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def accepts(path: Path) -> bool:
    """Whether a process on this machine accepts connections at this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        return connection.connect_ex(str(path)) == 0
