"""The real program through a CONNECT proxy to an HTTPS service, with certificates made for the test."""

from __future__ import annotations

import base64
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from process.program import KEY, Program, result_of

from wisp.testing.frames import frames
from wisp.testing.steps import Step

pytestmark = pytest.mark.process

HOST = "models.test"
"""Resolved by the proxy alone, as names behind a company's proxy are."""


class Service:
    """HTTPS on loopback that answers every Chat request with `secure`, one connection a thread."""

    def __init__(self, certificate: trustme.LeafCert, clients: trustme.CA | None) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            clients.configure_trust(context)
        self._context = context
        self.requests: list[bytes] = []
        self._listener = _listen(self._serve)
        self.port = self._listener.getsockname()[1]

    def _serve(self, raw: socket.socket) -> None:
        try:
            with self._context.wrap_socket(raw, server_side=True) as connection:
                data = b""
                while b"\r\n\r\n" not in data:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    data += piece
                head, _, body = data.partition(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                while len(body) < size:
                    body += connection.recv(65536)
                self.requests.append(head)
                answer = b"".join(frames("chat", Step("secure"), 1))
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
                    b"content-length: %d\r\n\r\n" % len(answer) + answer
                )
        except OSError:
            pass  # the client did not like our certificate, or we not its own

    def close(self) -> None:
        self._listener.close()


class Proxy:
    """A CONNECT proxy that knows one host name; keeps everything it saw."""

    def __init__(self, port: int, login: str = "") -> None:
        self._target, self._login = port, login
        self.heads: list[bytes] = []
        self.bytes = bytearray()
        self._listener = _listen(self._serve)
        self.url = f"http://{login + '@' if login else ''}127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(4096)
                if not piece:
                    return
                head += piece
            self.heads.append(head)
            proof = base64.b64encode(self._login.encode())
            if self._login and b"Basic " + proof not in head:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                return
            if not head.startswith(b"CONNECT %s:443 " % HOST.encode()):
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n")
                return
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(("127.0.0.1", self._target)) as server:
                pair = {client: server, server: client}
                while True:
                    for ready in select.select(list(pair), [], [], 30)[0]:
                        piece = ready.recv(65536)
                        if not piece:
                            return
                        self.bytes += piece
                        pair[ready].sendall(piece)

    def close(self) -> None:
        self._listener.close()


def _listen(serve: Any) -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=_quietly, args=(serve, connection), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener


def _quietly(serve: Any, connection: socket.socket) -> None:
    try:
        serve(connection)
    except OSError:
        pass  # the other side went away
    finally:
        connection.close()


class World:
    """A certificate authority, a service, a proxy, and the program configured for them."""

    def __init__(self, tmp_path: Path, *, client: bool = False, login: str = "") -> None:
        self.ca = trustme.CA()
        self.bundle = tmp_path / "ca.pem"
        self.ca.cert_pem.write_to_path(str(self.bundle))
        self.service = Service(self.ca.issue_cert(HOST, "localhost"), self.ca if client else None)
        self.proxy = Proxy(self.service.port, login)
        mine = self.ca.issue_cert("me@example.org")
        self.cert, self.key = tmp_path / "me.pem", tmp_path / "me.key"
        mine.cert_chain_pems[0].write_to_path(str(self.cert))
        mine.private_key_pem.write_to_path(str(self.key))
        self._tmp = tmp_path

    def program(self, *lines: str, url: str = f"https://{HOST}/v1", **env: str) -> Program:
        made = Program(self._tmp / "home", self._tmp / "project", api="openai-chat", url=url)
        path = made.home / "config" / "settings.toml"
        more = "\n".join(["[providers.local]", *lines])
        path.write_text(path.read_text().replace("[providers.local]", more, 1))
        made.env.update(env)
        return made

    def close(self) -> None:
        self.service.close()
        self.proxy.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Any]:
    made: list[World] = []

    def make(**more: Any) -> World:
        made.append(World(tmp_path, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def go(program: Program) -> Any:
    return program.run("-p", "go", "--output-format", "json", "--max-retries", "0")


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_company_proxy_and_its_own_authority(world: Any, variable: str) -> None:
    here = world()
    program = here.program(f'ca_bundle = "{here.bundle}"', **{variable: here.proxy.url})
    done = go(program)
    assert result_of(done)["result"] == "secure", done.stderr
    assert here.proxy.heads[0].startswith(b"CONNECT models.test:443 ")
    assert f"Bearer {KEY}".encode() in here.service.requests[0]
    assert KEY.encode() not in here.proxy.heads[0] + here.proxy.bytes


def test_the_systems_way_of_naming_an_authority(world: Any) -> None:
    here = world()
    program = here.program(HTTPS_PROXY=here.proxy.url, SSL_CERT_FILE=str(here.bundle))
    assert result_of(go(program))["result"] == "secure"


def test_a_proxy_that_wants_a_name_gets_it_and_no_error_repeats_it(world: Any) -> None:
    here = world(login="me:pass-canary")
    bundle = f'ca_bundle = "{here.bundle}"'
    assert result_of(go(here.program(bundle, HTTPS_PROXY=here.proxy.url)))["result"] == "secure"
    done = go(here.program(bundle, HTTPS_PROXY=here.proxy.url.replace("canary", "wrong")))
    assert done.returncode == 4
    assert "the proxy refuses" in done.stdout + done.stderr
    assert "pass-wrong" not in done.stderr + done.stdout


@pytest.mark.parametrize("through_proxy", [True, False])
def test_an_authority_nobody_named_is_not_trusted(world: Any, through_proxy: bool) -> None:
    here = world()
    direct = f"https://localhost:{here.service.port}/v1"
    program = here.program(HTTPS_PROXY=here.proxy.url) if through_proxy else here.program(url=direct)
    done = go(program)
    assert done.returncode == 4
    assert "is not trusted" in done.stdout + done.stderr
    assert here.service.requests == []


def test_no_proxy_and_this_machine_are_reached_directly(world: Any) -> None:
    here = world()
    bundle = f'ca_bundle = "{here.bundle}"'
    direct = f"https://localhost:{here.service.port}/v1"
    assert result_of(go(here.program(bundle, url=direct, HTTPS_PROXY=here.proxy.url)))["result"] == "secure"
    done = go(here.program(bundle, HTTPS_PROXY=here.proxy.url, NO_PROXY=".test"))
    assert "no such host: models.test" in done.stdout + done.stderr
    assert here.proxy.heads == []


@pytest.mark.parametrize("through_proxy", [True, False])
def test_a_client_certificate_is_shown_where_one_is_set(world: Any, through_proxy: bool) -> None:
    here = world(client=True)
    direct = f"https://localhost:{here.service.port}/v1"
    where: dict[str, str] = {"HTTPS_PROXY": here.proxy.url} if through_proxy else {"url": direct}
    bundle = f'ca_bundle = "{here.bundle}"'
    refused = go(here.program(bundle, **where))
    assert refused.returncode == 4, refused.stdout[:900] + refused.stderr
    both = (bundle, f'client_cert = "{here.cert}"', f'client_key = "{here.key}"')
    done = go(here.program(*both, **where))
    assert result_of(done)["result"] == "secure", done.stderr


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('ca_bundle = "/nowhere.pem"', "[providers.local] ca_bundle: there is no file /nowhere.pem"),
        ('client_cert = "/nowhere.pem"', "[providers.local] client_cert: there is no file /nowhere.pem"),
        ('ca_bundle = "{junk}"', "junk.pem cannot be used"),
        ('client_cert = "{junk}"', "junk.pem cannot be used"),
    ],
)
def test_certificates_that_cannot_be_used_are_named(
    world: Any, tmp_path: Path, line: str, words: str
) -> None:
    here = world()
    junk = tmp_path / "junk.pem"
    junk.write_text("not a certificate")
    done = go(here.program(line.format(junk=junk)))
    assert done.returncode in (3, 4)
    assert words in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_key_with_a_passphrase_is_refused_without_a_prompt(world: Any, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization

    here = world(client=True)
    key = serialization.load_pem_private_key(here.key.read_bytes(), None)
    here.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    lines = (f'ca_bundle = "{here.bundle}"', f'client_cert = "{here.cert}"', f'client_key = "{here.key}"')
    done = go(here.program(*lines, url=f"https://localhost:{here.service.port}/v1"))
    assert done.returncode in (3, 4)
    assert "cannot be used" in done.stdout + done.stderr


def test_a_fallback_uses_its_own_certificates_and_is_not_shown_anothers(world: Any, tmp_path: Path) -> None:
    """The first service trusts nobody's word and fails; the second has another authority altogether."""
    first = world(client=True)
    second_ca = trustme.CA()
    bundle = tmp_path / "second.pem"
    second_ca.cert_pem.write_to_path(str(bundle))
    second = Service(second_ca.issue_cert("localhost"), None)
    program = first.program(f'ca_bundle = "{first.bundle}"', url=f"https://localhost:{first.service.port}/v1")
    path = program.home / "config" / "settings.toml"
    path.write_text(
        'fallback_models = ["other/m"]\n'
        + path.read_text()
        + f'[providers.other]\nbase_url = "https://localhost:{second.port}/v1"\nca_bundle = "{bundle}"\n'
    )
    done = go(program)
    second.close()
    assert result_of(done)["result"] == "secure", done.stdout + done.stderr
