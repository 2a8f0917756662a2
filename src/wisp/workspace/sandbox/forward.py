"""Inside the box: a port on loopback for programs that know HTTP proxies, handed on to the Unix socket.

PORT SOCKET.  Ends when it listens, leaving a process behind whose number it says.  A program of the standard
library alone; decides nothing.
"""

from __future__ import annotations

import os
import socket
import sys
import threading


def main(port: int, path: str) -> None:
    """Serve, in the background, for as long as the box lives."""
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    pid = os.fork()
    if pid:
        os.write(1, b"%d\n" % pid)
        os._exit(0)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_serve, args=(client, path), daemon=True).start()


def _serve(client: socket.socket, path: str) -> None:
    server = socket.socket(socket.AF_UNIX)
    with client, server:
        try:
            server.connect(path)
        except OSError:
            return  # the proxy is gone: closed
        carry(client, server)


def carry(one: socket.socket, other: socket.socket) -> None:
    """Bytes both ways until either side is done."""
    back = threading.Thread(target=_carry, args=(other, one), daemon=True)
    back.start()
    _carry(one, other)
    back.join()


def _carry(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
    except OSError:
        pass  # one side is gone; the other is told below
    try:
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # it is gone already


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
