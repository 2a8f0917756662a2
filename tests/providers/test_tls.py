"""HTTPS: certificates are checked, a bundle of one's own works.  The key in `tls/` protects nothing."""

import asyncio
import ssl
from pathlib import Path

import pytest

from wisp.messages.ids import SystemClock
from wisp.messages.message import user
from wisp.providers.endpoint import Endpoint, Secret, Timeouts
from wisp.providers.errors import ConnectError
from wisp.providers.http import HttpTransport
from wisp.providers.registry import build_provider
from wisp.testing.asking import ask
from wisp.testing.frames import frames
from wisp.testing.steps import Step

CERTIFICATE = str(Path(__file__).with_name("tls") / "cert.pem")
KEY = str(Path(__file__).with_name("tls") / "key.pem")


@pytest.fixture
async def url():
    """An HTTPS server that answers every Chat request with `secure`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, KEY)
    writers = []

    async def serve(reader, writer):
        writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
                body = b"".join(frames("chat", Step("secure"), 1))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
                writer.write(b"content-length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    yield f"https://localhost:{server.sockets[0].getsockname()[1]}/v1"
    server.close()
    for writer in writers:
        writer.transport.abort()
    await asyncio.sleep(0.01)


async def test_a_bundle_of_ones_own_is_trusted_and_the_connection_kept(url):
    transport = HttpTransport(ca_bundle=CERTIFICATE)
    provider = build_provider(Endpoint("tls", "openai-chat", url), SystemClock(), transport)
    provider.warm()
    for _ in range(2):
        assert (await ask(provider, [user("go")]))[-1].message.text == "secure"
    await provider.aclose()


async def test_a_certificate_nobody_vouches_for_is_refused_and_not_tried_again(url):
    provider = build_provider(Endpoint("tls", "openai-chat", url), SystemClock())
    events = await ask(provider, [user("go")])
    assert len(events) == 1
    assert "not trusted" in events[0].message
    await provider.aclose()


async def test_plain_bytes_on_a_tls_port_are_a_connect_error():
    async def serve(reader, writer):
        writer.write(b"SSH-2.0-x\r\n")
        await writer.drain()
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    from wisp.providers.address import parse_url

    address = parse_url(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    with pytest.raises(ConnectError):
        await HttpTransport().send(address, "/", [("host", "x")], b"", Timeouts(connect=2.0))
    server.close()
    await asyncio.sleep(0.01)


async def test_https_goes_through_a_proxy_and_is_checked_end_to_end(url):
    """The proxy sees a host name and a port, never the request."""
    port = int(url.rpartition(":")[2].partition("/")[0])
    seen = []
    writers = []

    async def pump(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def tunnel(reader, writer):
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        writers.extend((writer, inner_writer))
        await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer), return_exceptions=True)

    proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    transport = HttpTransport({"HTTPS_PROXY": address}, ca_bundle=CERTIFICATE)
    endpoint = Endpoint("tls", "openai-chat", f"https://models.test:{port}/v1", Secret("sk-proxied-1234"))
    provider = build_provider(endpoint, SystemClock(), transport)
    assert (await ask(provider, [user("go")]))[-1].message.text == "secure"
    await provider.aclose()
    assert seen[0].startswith(b"CONNECT models.test:%d " % port)
    assert b"sk-proxied" not in b"".join(seen)
    proxy.close()
    for writer in writers:
        writer.transport.abort()
    await asyncio.sleep(0.01)
