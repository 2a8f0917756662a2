"""Addresses as values: taking a base URL apart, and which proxy leads there.  Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wisp.providers.errors import RequestError

_KEPT = "/%:@!$&'()*+,;=~-._"


class Url(msgspec.Struct, frozen=True):
    """An absolute HTTP address without credentials."""

    scheme: str
    host: str
    """Without brackets, lower case."""
    port: int
    path: str
    """With its query; no trailing slash; empty for the root."""
    userinfo: str = ""
    """`name:password` where the address carried it; never shown."""

    @property
    def authority(self) -> str:
        """Host and, where it is not the scheme's own, port: what the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"

    def joined(self, path: str) -> str:
        """The request target of `path` beneath this base; a query of the base stays at the end."""
        base, mark, query = self.path.partition("?")
        return base.rstrip("/") + path + mark + query

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path.partition('?')[0]}"


def parse_url(text: str) -> Url:
    """An `http` or `https` address.

    Raises:
        RequestError: it is not one.
    """
    scheme, mark, rest = text.strip().partition("://")
    scheme = scheme.lower()
    if not mark or scheme not in ("http", "https"):
        raise RequestError("a base URL begins with http:// or https://")
    rest = rest.partition("#")[0]
    cut = min((place for place in (rest.find("/"), rest.find("?")) if place >= 0), default=len(rest))
    authority, path = rest[:cut], rest[cut:]
    userinfo, _, hostport = authority.rpartition("@")
    host, port = _host_and_port(hostport, 443 if scheme == "https" else 80)
    if not host or not text.isprintable() or " " in path:
        raise RequestError("the base URL names no host")
    if not path.isascii():
        path = "".join(c if c.isascii() else "".join(f"%{byte:02X}" for byte in c.encode()) for c in path)
    return Url(scheme, host, port, path.rstrip("/"), userinfo)


def target_of(address: str) -> str:
    """What is asked for, exactly as the address has it: a slash at its end counts."""
    from urllib.parse import quote, urlsplit  # 3 ms that a run without such addresses does not pay

    parts = urlsplit(address)
    path, query = quote(parts.path or "/", safe=_KEPT), quote(parts.query, safe=_KEPT + "?")
    return f"{path}?{query}" if query else path


def _host_and_port(text: str, usual: int) -> tuple[str, int]:
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        tail = rest.removeprefix(":") if rest.startswith(":") else ""
    else:
        host, _, tail = text.partition(":")
    if not tail:
        return _ascii_host(host), usual
    if not tail.isdecimal() or not 0 < int(tail) < 65536:
        raise RequestError("the base URL's port is not a number from 1 to 65535")
    return _ascii_host(host), int(tail)


def _ascii_host(host: str) -> str:
    if host.isascii():
        return host.lower()
    try:
        return host.encode("idna").decode().lower()
    except UnicodeError:
        raise RequestError("the base URL's host is not a host name") from None


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine by name or address."""
    return host in ("localhost", "::1") or host.endswith(".localhost") or host.startswith("127.")


def proxy_for(url: Url, proxies: Mapping[str, str]) -> str:
    """The proxy that leads to `url`, or nothing.

    `proxies` holds `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` in any case, as a shell's
    environment does.  This machine is never reached through a proxy.
    """
    if not proxies:
        return ""
    lower = {name.lower(): value for name, value in proxies.items() if value}
    found = lower.get(f"{url.scheme}_proxy") or lower.get("all_proxy") or ""
    if not found or is_loopback(url.host) or _excepted(url, lower.get("no_proxy", "")):
        return ""
    return found if "://" in found else f"http://{found}"


def _excepted(url: Url, no_proxy: str) -> bool:
    for entry in no_proxy.replace(",", " ").lower().split():
        if entry == "*":
            return True
        if "/" in entry and _in_network(url.host, entry):
            return True
        name, _, port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
        if port and port != str(url.port):
            continue
        name = name.removeprefix("*").removeprefix(".").strip("[]")
        if url.host == name or url.host.endswith("." + name):
            return True
    return False


def _in_network(host: str, network: str) -> bool:
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
