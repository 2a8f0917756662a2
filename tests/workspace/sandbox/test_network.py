"""Hosts are compared in one spelling, and only the listed ones are reached; everything unclear is closed."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from workspace.sandbox.conftest import Boxed

from wisp.workspace.box import BoxSettings
from wisp.workspace.sandbox.hosts import BadHost, allowed, canonical, may_dial, parse_rules, split_port
from wisp.workspace.sandbox.proxy import Proxy

RULES = parse_rules("example.test, *.sub.test, 10.1.2.3:8080, münchen.test, [2001:db8::1]:443")

SAME = [
    "example.test", "EXAMPLE.TEST", "Example.Test.", "example\u3002test", "example\uff0etest", "example\uff61test",
    "ｅxample.test", "eXample.tEst.", "a.sub.test", "A.B.SUB.TEST", "xn--mnchen-3ya.test", "MÜNCHEN.test",
]  # fmt: skip
OTHER = [
    "example.test.evil.test", "evilexample.test", "evil.test", "test", "example", "sub.test", "xsub.test",
    "sub.test.evil.test", "example.test-evil.test", "a.example.test", "exampl\u0435.test", "localhost",
    "10.1.2.4", "169.254.169.254", "127.0.0.1", "2001:db8::2", "::1", "[::1]", "example.testa", "0.0.0.0",
    "metadata.google.internal", "example.test.localhost", "xn--example.test", "e-xample.test",
]  # fmt: skip
NONE = [
    "", ".", "..", "example..test", ".example.test", "example.test..", "example.test\0", "example.test\0.evil.test",
    "example.test ", " example.test", "example.test\n", "example.test/", "example.test#", "example.test?",
    "example.test\\", "example.test%00", "example.test%2eevil.test", "user@example.test", "example.test@evil.test",
    "-example.test", "example-.test", "exa mple.test", "example.test:80:80", "127.1", "0x7f.0.0.1", "0177.0.0.1",
    "2130706433", "0x7f000001", "127.0.0.01", "1.2.3.4.5", "1.2.3.256", "::ffff:127.0.0.1", "[::ffff:10.1.2.3]",
    "fe80::1%eth0", "[fe80::1%25eth0]", "[::1", "::1]", "a" * 64 + ".test", "a." * 130 + "test", "*.test", "*",
    "example\u200b.test\u2028", "example.test\r\nHost: evil.test", "[example.test]", "10.1.2.3.", "0x", "example.0x",
]  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_spellings_of_an_allowed_name_are_one_name(name: str) -> None:
    assert allowed(RULES, canonical(name), 443)
    assert not allowed(RULES, canonical(name), 22)


@pytest.mark.parametrize("name", OTHER)
def test_names_that_look_alike_are_others(name: str) -> None:
    assert not allowed(RULES, canonical(name), 443)
    assert not allowed(RULES, canonical(name), 8080)


@pytest.mark.parametrize("name", NONE)
def test_what_has_no_single_spelling_is_refused(name: str) -> None:
    """Or it is a name that is not listed: never the listed one by another reading."""
    try:
        assert name == "10.1.2.3." or not allowed(RULES, canonical(name), 443)
    except BadHost:
        pass


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ",",
        "example.test,",
        "*",
        "*.",
        "*.test",
        "*.10.1.2.3",
        "a b",
        "example.test:0",
        "x.test:99999",
        "x.test:",
    ],
)
def test_an_empty_or_faulty_list_is_an_error_and_never_open(text: str) -> None:
    with pytest.raises(BadHost):
        parse_rules(text)


def test_no_rules_allow_nothing() -> None:
    assert not allowed((), "example.test", 443)


@pytest.mark.parametrize(
    ("host", "address", "open_"),
    [
        ("example.test", "93.184.216.34", True),
        ("example.test", "127.0.0.1", False),
        ("example.test", "10.1.2.3", False),
        ("example.test", "169.254.169.254", False),
        ("example.test", "192.168.1.1", False),
        ("example.test", "100.64.0.1", False),
        ("example.test", "0.0.0.0", False),
        ("example.test", "224.0.0.1", False),
        ("example.test", "::1", False),
        ("example.test", "::ffff:127.0.0.1", False),
        ("example.test", "fe80::1", False),
        ("example.test", "fd00::1", False),
        ("example.test", "2002:7f00:1::", False),
        ("example.test", "2606:2800:220:1::1", True),
        ("example.test", "nonsense", False),
        ("10.1.2.3", "10.1.2.3", True),
        ("10.1.2.3", "10.1.2.4", False),
    ],
)
def test_a_name_leads_to_public_addresses_only(host: str, address: str, open_: bool) -> None:
    assert may_dial(RULES, host, address) is open_


@pytest.mark.parametrize(
    ("text", "found"), [("a.test:1", ("a.test", 1)), ("a.test", ("a.test", 0)), ("[::1]:8", ("[::1]", 8))]
)
def test_ports(text: str, found: tuple[str, int]) -> None:
    assert split_port(text) == found


@pytest.fixture
def server() -> Iterator[int]:
    """A web server of one answer, on loopback."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                asked = client.recv(65536)
                body = asked.split(b"\r\n\r\n")[0]
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def ask(path: Path, request: str) -> str:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(5)
        sock.connect(str(path))
        sock.sendall(request.encode("latin-1"))
        said = b""
        while piece := sock.recv(65536):
            said += piece
    return said.decode("latin-1")


def test_the_proxy_lets_through_what_is_listed_and_nothing_else(tmp_path: Path, server: int) -> None:
    path = tmp_path / "p"
    asked: list[str] = []

    def resolver(host: str, port: int) -> list[str]:
        asked.append(host)
        return {"example.test": ["127.0.0.1"], "rebound.test": ["93.184.216.34", "127.0.0.1"]}.get(host, [])

    proxy = Proxy(parse_rules(f"127.0.0.1:{server},example.test:{server},rebound.test"), str(path), resolver)
    try:
        # an address that is listed as such
        proxy._resolve = lambda host, port: [host] if host == "127.0.0.1" else resolver(host, port)
        said = ask(
            path, f"GET http://127.0.0.1:{server}/x?y HTTP/1.1\r\nHost: evil.test\r\nProxy-Auth: z\r\n\r\n"
        )
        assert said.startswith("HTTP/1.1 200")
        assert f"GET /x?y HTTP/1.1\r\nHost: 127.0.0.1:{server}\r\nConnection: close" in said
        assert "evil" not in said
        assert "Proxy" not in said
        assert (
            ask(path, f"CONNECT 127.0.0.1:{server} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n").count("200") == 2
        )
        # a listed name that leads inside, also when only its second answer does
        assert ask(path, f"CONNECT example.test:{server} HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 403")
        assert ask(path, "CONNECT rebound.test:443 HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 403")
        # others are not even looked up
        asked.clear()
        for target in ("evil.test:443", f"127.0.0.1:{server + 1}", f"localhost:{server}", "example.test:22"):
            assert ask(path, f"CONNECT {target} HTTP/1.1\r\n\r\n").startswith("HTTP/1.1 403"), target
        assert asked == []
        for line in (
            "CONNECT 127.1:80 HTTP/1.1", f"CONNECT 0x7f000001:{server} HTTP/1.1", "CONNECT 127.0.0.1 HTTP/1.1",
            f"GET http://evil.test@127.0.0.1:{server}/ HTTP/1.1", f"GET http://127.0.0.1:{server}@evil.test/ HTTP/1.1",
            f"GET http://127.0.0.1:{server}\\@evil.test/ HTTP/1.1", "GET / HTTP/1.1", "GET ftp://x.test/ HTTP/1.1",
            f"CONNECT 127.0.0.1:{server} HTTP/9", "nonsense", f"CONNECT 127.0.0.1\0.evil.test:{server} HTTP/1.1",
        ):  # fmt: skip
            assert ask(path, line + "\r\n\r\n").startswith(("HTTP/1.1 400", "HTTP/1.1 403")), line
        assert len(proxy.denied) >= 15
    finally:
        proxy.close()


def test_a_request_without_end_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "p"
    proxy = Proxy(parse_rules("example.test"), str(path))
    try:
        assert ask(path, "GET " + "x" * 100_000) == ""
    except (BrokenPipeError, ConnectionResetError):
        pass  # cut while it was still talking
    finally:
        proxy.close()


@pytest.fixture
def hosted(tmp_path: Path, need: Callable[[str], str], server: int) -> Iterator[Boxed]:
    need("curl")
    launcher = os.path.dirname(need("bwrap"))
    (tmp_path / "work").mkdir()
    made = Boxed(tmp_path / "work", tmp_path, launcher)
    made.box.settings = BoxSettings(home=str(tmp_path), network=f"127.0.0.1:{server}")
    yield made
    made.close()


CURL = "curl -sS --max-time 5 --noproxy '' -o /dev/null -w '%{http_code}\n'"


def test_a_box_with_listed_hosts_reaches_those_only(hosted: Boxed, server: int) -> None:
    ending, said = hosted(f"{CURL} http://127.0.0.1:{server}/")
    assert (ending.code, said) == (0, "200\n")
    assert hosted(f"{CURL} http://127.0.0.1:{server + 1}/")[1] == "403\n"
    assert hosted(f"{CURL} http://evil.test/")[1] == "403\n"
    # the variables are a convenience, the empty network is the fence
    for command in (
        f"curl -sS --max-time 5 --noproxy '*' http://127.0.0.1:{server}/",
        f"env -u http_proxy -u HTTP_PROXY curl -sS --max-time 5 http://127.0.0.1:{server}/",
        f"exec 3<>/dev/tcp/127.0.0.1/{server}",
    ):
        ending, said = hosted(command)
        assert ending.code != 0, said
    assert hosted("echo quick")[0].left == ()


def test_when_the_proxy_is_gone_the_way_is_closed(hosted: Boxed, server: int) -> None:
    hosted("true")
    boxes = hosted.box._boxes
    assert boxes is not None and boxes._proxy is not None
    boxes._proxy.close()
    ending, _ = hosted(f"{CURL} http://127.0.0.1:{server}/")
    assert ending.code != 0


def test_without_a_network_nothing_is_there(boxed: Boxed, server: int) -> None:
    begun = time.monotonic()
    assert boxed(f"exec 3<>/dev/tcp/127.0.0.1/{server}")[0].code != 0
    assert boxed("getent hosts example.org")[0].code != 0
    assert time.monotonic() - begun < 5
