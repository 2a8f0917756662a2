"""Which hosts may be reached: one spelling for every name, and rules that compare labels, never text.

What cannot be brought into that one spelling is refused.  An empty or faulty list allows nothing.  Pure.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import NamedTuple

_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)")
_DOTS = str.maketrans({"\u3002": ".", "\uff0e": ".", "\uff61": "."})
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
USUAL_PORTS = (80, 443)


class BadHost(ValueError):
    """A name or rule that has no canonical spelling."""


class HostRule(NamedTuple):
    """One host, or all below one; one port, or the usual two."""

    host: str
    below: bool
    ports: tuple[int, ...]


def canonical(text: str) -> str:
    """The one spelling of a host name or address.

    Raises:
        BadHost: there is none, or it could be read in two ways.
    """
    if text.startswith("[") and text.endswith("]"):
        return _six(text[1:-1])
    if ":" in text:
        return _six(text)
    name = text.translate(_DOTS)
    name = name.removesuffix(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            raise BadHost(f"{text!r} is not a host name") from None
    name = name.lower()
    labels = name.split(".")
    if not name or len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise BadHost(f"{text!r} is not a host name")
    if _NUMBER.fullmatch(labels[-1]):
        return _four(text, name)
    return name


def parse_rules(text: str) -> tuple[HostRule, ...]:
    """Rules from `example.org,*.example.net,10.0.0.5:8080`.

    Raises:
        BadHost: one of them is faulty, or there is none.
    """
    rules = []
    for word in text.split(","):
        word = word.strip()
        below = word.startswith("*.")
        host, port = split_port(word[2:] if below else word)
        name = canonical(host)
        if below and (_is_address(name) or "." not in name):
            raise BadHost(f"{word!r} covers too much")
        rules.append(HostRule(name, below, (port,) if port else USUAL_PORTS))
    return tuple(rules)


def split_port(text: str) -> tuple[str, int]:
    """Host and port of `host:port`; 0 where none is given.

    Raises:
        BadHost: the port is none, or what stands there is no authority.
    """
    host, colon, port = text.rpartition(":")
    if text.startswith("["):
        host, _, port = text.partition("]")
        host += "]"
        if port and not port.startswith(":"):
            raise BadHost(f"{text!r} is not a host and a port")
        colon, port = port[:1], port[1:]
    elif not colon:
        host, port = text, ""
    if not colon:
        return host, 0
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65536):
        raise BadHost(f"{text!r} has no valid port")
    return host, int(port)


def allowed(rules: Sequence[HostRule], host: str, port: int) -> bool:
    """Whether `host`, in its one spelling, may be reached at `port`."""
    return any(port in rule.ports and _covers(rule, host) for rule in rules)


def may_dial(rules: Sequence[HostRule], host: str, address: str) -> bool:
    """Whether a name may lead to `address`: to public ones, else only where the address itself is listed."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    if _is_address(host):
        return found == ipaddress.ip_address(host)
    if isinstance(found, ipaddress.IPv6Address) and (found.ipv4_mapped or found.sixtofour or found.teredo):
        return False
    if found in _TRANSLATED:  # an IPv4 address behind a translator (RFC 6052)
        found = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return found.is_global and not found.is_multicast


def _covers(rule: HostRule, host: str) -> bool:
    if rule.below:
        return host.endswith("." + rule.host) and not _is_address(host)
    return host == rule.host


def _four(text: str, name: str) -> str:
    try:
        found = str(ipaddress.IPv4Address(name))
    except ValueError:
        raise BadHost(f"{text!r} is an address in an unusual spelling") from None
    return found


def _six(text: str) -> str:
    try:
        found = ipaddress.IPv6Address(text)
    except ValueError:
        raise BadHost(f"{text!r} is not an address") from None
    if found.scope_id or found.ipv4_mapped:
        raise BadHost(f"{text!r} is an address in an unusual spelling")
    return found.compressed


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
