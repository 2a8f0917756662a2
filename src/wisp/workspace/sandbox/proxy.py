"""The only way out of a box that may reach some hosts: an HTTP proxy on a Unix socket.

It decides on the same name that it dials, dials the very address that it checked, and closes on whatever it
does not understand.  It sees host names and, of plain HTTP, requests; it never opens TLS, so a server may
answer for another name inside the connection it was allowed.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence

from wisp.workspace.sandbox.forward import carry
from wisp.workspace.sandbox.hosts import BadHost, HostRule, allowed, canonical, may_dial, split_port

_HEAD = 32768
_PATIENCE = 15.0
_IDLE = 300.0
_MOST = 64
Resolve = Callable[[str, int], Sequence[str]]


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system says."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(row[4][0]) for row in found))


class Proxy:
    """Listens at `path` until closed; `denied` collects what was refused."""

    def __init__(self, rules: Sequence[HostRule], path: str, resolver: Resolve = resolve) -> None:
        self._rules, self._resolve = tuple(rules), resolver
        self.denied: list[str] = []
        self._free = threading.Semaphore(_MOST)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        os.chmod(path, 0o600)
        self._listener.listen(_MOST)
        threading.Thread(target=self._accept, name="wisp-proxy", daemon=True).start()

    def close(self) -> None:
        """No more connections; what goes on ends with its box."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it was not waiting
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # closed
            if not self._free.acquire(blocking=False):
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                client.settimeout(_PATIENCE)
                self._one(client)
        except (OSError, ValueError):
            pass  # the connection is closed; that is the answer
        finally:
            self._free.release()

    def _one(self, client: socket.socket) -> None:
        data = _head(client)
        head, _, rest = data.partition(b"\r\n\r\n")
        try:
            host, port, first = self._target(head)
        except BadHost as exc:
            self._refuse(client, "400 Bad Request", str(exc))
            return
        server = self._dial(client, host, port)
        if server is None:
            return
        with server:
            if first is None:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                server.sendall(rest)
            else:
                server.sendall(first + b"\r\n\r\n" + rest)
            _join(client, server)

    def _target(self, head: bytes) -> tuple[str, int, bytes | None]:
        """Host, port, and for plain HTTP the request to hand on."""
        line, _, fields = head.partition(b"\r\n")
        words = line.decode("ascii", "strict").split(" ") if line.isascii() else []
        if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0") or b"\0" in head:
            raise BadHost("the request line is not understood")
        method, target, version = words
        if method == "CONNECT":
            host, port = split_port(target)
            if not port:
                raise BadHost("CONNECT needs a port")
            return canonical(host), port, None
        scheme, sign, rest = target.partition("://")
        if not sign or scheme.lower() != "http":
            raise BadHost("only http:// addresses can be asked for directly")
        at = min((place for place in map(rest.find, "/?#") if place >= 0), default=len(rest))
        host, port = split_port(rest[:at])
        name = canonical(host)
        path = rest[at:] if rest[at : at + 1] == "/" else "/" + rest[at:]
        shown = f"[{name}]" if ":" in name else name
        where = shown if port in (0, 80) else f"{shown}:{port}"
        kept = [row for row in fields.split(b"\r\n") if row and not _ours(row)]
        first = f"{method} {path} {version}\r\nHost: {where}\r\nConnection: close".encode()
        return name, port or 80, b"\r\n".join([first, *kept])

    def _dial(self, client: socket.socket, host: str, port: int) -> socket.socket | None:
        if not allowed(self._rules, host, port):
            self._refuse(client, "403 Forbidden", f"{host}:{port} is not among the allowed hosts")
            return None
        try:
            addresses = self._resolve(host, port)
        except OSError as exc:
            self._refuse(client, "502 Bad Gateway", f"{host} has no address: {exc}")
            return None
        if not addresses or not all(may_dial(self._rules, host, address) for address in addresses):
            self._refuse(client, "403 Forbidden", f"{host} leads to an address that is not public")
            return None
        try:
            return socket.create_connection((addresses[0], port), _PATIENCE)
        except OSError as exc:
            self._refuse(client, "502 Bad Gateway", f"{host}:{port} cannot be reached: {exc}")
            return None

    def _refuse(self, client: socket.socket, status: str, why: str) -> None:
        if len(self.denied) < 1000:
            self.denied.append(why)
        body = f"wisp: {why}\n".encode("ascii", "backslashreplace")
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode() + body)


def _head(client: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(4096)
        if not piece or len(data) > _HEAD:
            raise ValueError("no head")
        data += piece
    return data


def _ours(row: bytes) -> bool:
    name = row.partition(b":")[0].strip().lower()
    return name in (b"host", b"connection", b"keep-alive") or name.startswith(b"proxy-")


def _join(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until either side is done."""
    for end in (one, other):
        end.settimeout(_IDLE)
    carry(one, other)
