"""The network door: framing, patience, re-use, cancelling, limits; against real sockets."""

import asyncio
import gzip
import socket
import zlib

import pytest

from wisp.providers.address import parse_url, proxy_for
from wisp.providers.endpoint import Timeouts
from wisp.providers.errors import ConnectError, ProviderError, RequestError, WireError
from wisp.providers.http import HttpTransport

BRIEF = Timeouts(connect=1.0, first_byte=0.3, idle=0.2, progress=0.6)


class Server:
    """Answers each connection with what a coroutine writes; counts connections and what they were asked."""

    def __init__(self, answer, host="127.0.0.1"):
        self.answer = answer
        self.host = host
        self.connections = 0
        self.requests = []
        self.closed = asyncio.Event()
        self.writers = []
        self.transports = []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, self.host, 0)
        self.port = self.server.sockets[0].getsockname()[1]
        name = f"[{self.host}]" if ":" in self.host else self.host
        self.url = parse_url(f"http://{name}:{self.port}/v1")
        return self

    async def __aexit__(self, *exc):
        for transport in self.transports:
            await transport.aclose()
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)

    async def serve(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.requests.append((head, await reader.readexactly(length)))
                if await self.answer(reader, writer, len(self.requests)) == "close":
                    break
        except (OSError, EOFError):
            self.closed.set()
        finally:
            writer.close()


def plain(data):
    async def answer(reader, writer, number):
        writer.write(data)
        await writer.drain()
        return "close" if b"content-length" not in data and b"chunked" not in data else None

    return answer


OK = b"HTTP/1.1 200 OK\r\n"


async def post(server, transport=None, timeouts=BRIEF, body=b"{}"):
    transport = transport or HttpTransport()
    server.transports.append(transport)
    headers = [("host", server.url.authority), ("content-length", str(len(body)))]
    return await transport.send(server.url, server.url.joined("/x"), headers, body, timeouts)


async def whole(response):
    pieces = []
    while piece := await response.read():
        pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize(
    "data",
    [
        OK + b"content-length: 5\r\n\r\nhello",
        OK + b"transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        OK + b"\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length: 5\r\n\r\nhello",
    ],
    ids=["length", "chunked", "until close", "after a 100"],
)
async def test_every_framing_gives_the_body(data):
    async with Server(plain(data)) as server:
        response = await post(server)
        assert (response.status, await whole(response)) == (200, b"hello")
        await response.finish()


async def test_the_request_is_what_was_asked_for():
    async with Server(plain(OK + b"content-length: 0\r\n\r\n")) as server:
        await whole(await post(server, body=b'{"a":1}'))
        head, body = server.requests[0]
        assert head.startswith(b"POST /v1/x HTTP/1.1\r\n")
        assert body == b'{"a":1}'


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
async def test_a_literal_ipv6_address_is_reached():
    try:
        async with Server(plain(OK + b"content-length: 2\r\n\r\nok"), "::1") as server:
            assert await whole(await post(server)) == b"ok"
    except OSError:
        pytest.skip("IPv6 is switched off here")


async def test_a_finished_connection_is_used_again():
    async with Server(plain(OK + b"content-length: 2\r\n\r\nok")) as server:
        transport = HttpTransport()
        for _ in range(3):
            response = await post(server, transport)
            assert await whole(response) == b"ok"
            await response.finish()
        assert server.connections == 1
        await transport.aclose()


async def test_a_connection_that_died_while_waiting_is_replaced_silently():
    async def answer(reader, writer, number):
        if number == 2:
            return "close"  # the second request meets a dead connection
        writer.write(OK + b"content-length: 2\r\n\r\nok")
        await writer.drain()
        return None

    async with Server(answer) as server:
        transport = HttpTransport()
        for _ in range(2):
            response = await post(server, transport)
            assert await whole(response) == b"ok"
            await response.finish()
        assert server.connections == 2
        assert len(server.requests) == 3
        await transport.aclose()


async def test_a_fresh_connection_that_dies_is_an_error():
    async def answer(reader, writer, number):
        return "close"

    async with Server(answer) as server:
        with pytest.raises(ConnectError, match="without an answer"):
            await post(server)
        assert len(server.requests) == 1


async def test_an_unfinished_connection_is_not_used_again():
    async def answer(reader, writer, number):
        writer.write(OK + b"content-length: 100\r\n\r\nhe")
        await writer.drain()

    async with Server(answer) as server:
        transport = HttpTransport()
        for _ in range(2):
            response = await post(server, transport)
            assert await response.read() == b"he"
            await response.finish()
        assert server.connections == 2


async def test_nobody_listening_is_a_connect_error():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = parse_url(f"http://127.0.0.1:{bound.getsockname()[1]}")
    with pytest.raises(ConnectError, match="no connection"):
        await HttpTransport().send(url, "/", [("host", "x")], b"", BRIEF)


async def test_an_unknown_host_is_a_connect_error():
    with pytest.raises(ConnectError):
        await HttpTransport().send(parse_url("http://nowhere.invalid"), "/", [("host", "x")], b"", BRIEF)


async def test_silence_before_the_answer_ends():
    async def answer(reader, writer, number):
        await reader.read()

    async with Server(answer) as server:
        with pytest.raises(ConnectError, match="no answer within"):
            await post(server)


async def test_silence_in_the_middle_ends():
    async def answer(reader, writer, number):
        writer.write(OK + b"content-length: 100\r\n\r\nhe")
        await reader.read()

    async with Server(answer) as server:
        response = await post(server)
        assert await response.read() == b"he"
        with pytest.raises(ConnectError, match="silence"):
            await response.read()


async def test_dripping_without_progress_ends():
    async def answer(reader, writer, number):
        writer.write(OK + b"\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.05)

    async with Server(answer) as server:
        response = await post(server)
        with pytest.raises(ConnectError, match="no progress"):
            while await response.read():
                pass


async def test_a_slow_reader_is_not_the_servers_silence():
    async with Server(plain(OK + b"content-length: 5\r\n\r\nhello")) as server:
        response = await post(server)
        await asyncio.sleep(0.5)
        assert await whole(response) == b"hello"


async def test_abort_closes_the_socket_at_once():
    async def answer(reader, writer, number):
        writer.write(OK + b"\r\nx")
        while True:
            writer.write(b"x" * 1000)
            await writer.drain()
            await asyncio.sleep(0.01)

    async with Server(answer) as server:
        response = await post(server)
        await response.read()
        response.abort()
        await asyncio.wait_for(server.closed.wait(), 0.5)


async def test_cancelling_while_waiting_for_the_answer_closes_the_socket():
    async def answer(reader, writer, number):
        await reader.read()
        raise ConnectionError

    async with Server(answer) as server:
        task = asyncio.ensure_future(post(server, timeouts=Timeouts()))
        while not server.requests:
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait_for(server.closed.wait(), 0.5)
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("encoding", "pack"), [(b"gzip", gzip.compress), (b"deflate", zlib.compress)], ids=["gzip", "deflate"]
)
async def test_a_compressed_answer_is_unpacked(encoding, pack):
    packed = pack(b"hello" * 100)
    head = OK + b"content-encoding: " + encoding + b"\r\ncontent-length: %d\r\n\r\n" % len(packed)
    async with Server(plain(head + packed)) as server:
        assert await whole(await post(server)) == b"hello" * 100


async def test_a_bomb_is_refused_and_not_tried_again():
    packed = gzip.compress(b"\0" * (300 << 20), 1)
    head = OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    async with Server(plain(head + packed)) as server:
        response = await post(server, timeouts=Timeouts())
        with pytest.raises(WireError, match="larger") as caught:
            await whole(response)
        assert not caught.value.retryable


async def test_an_encoding_nobody_asked_for_is_an_error():
    async with Server(plain(OK + b"content-encoding: br\r\ncontent-length: 1\r\n\r\nx")) as server:
        with pytest.raises(WireError, match="encoded"):
            await post(server)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        OK + b"x: " + b"y" * 400_000 + b"\r\n\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\nzz\r\n",
        OK + b"content-length: 5\r\n\r\nhe",
    ],
    ids=["no http", "endless head", "bad chunk", "short body"],
)
async def test_what_is_no_http_is_a_provider_error(data):
    async def answer(reader, writer, number):
        writer.write(data)
        await writer.drain()
        return "close"

    async with Server(answer) as server:
        with pytest.raises(ProviderError):
            await whole(await post(server))


async def test_a_key_with_a_line_end_is_refused_without_showing_it():
    async with Server(plain(OK + b"content-length: 0\r\n\r\n")) as server:
        headers = [("host", "x"), ("authorization", "Bearer sec\r\nret")]
        with pytest.raises(RequestError) as caught:
            await HttpTransport().send(server.url, "/", headers, b"", BRIEF)
        assert "sec" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "authority", "target"),
    [
        ("http://h", "h", "/x"),
        ("https://H.Example:443/v1/", "h.example", "/v1/x"),
        ("http://[::1]:8080/v1", "[::1]:8080", "/v1/x"),
        ("http://h:81/deep/path?api-version=3", "h:81", "/deep/path/x?api-version=3"),
        ("http://name:pass@h/v1", "h", "/v1/x"),
    ],
)
def test_base_urls_are_taken_apart(text, authority, target):
    url = parse_url(text)
    assert (url.authority, url.joined("/x")) == (authority, target)
    assert "pass" not in str(url)


@pytest.mark.parametrize(
    "text", ["", "h/v1", "ftp://h", "http://", "http://h:0", "http://h:x", "http://h/a b", "http://h\n"]
)
def test_what_is_no_base_url_is_refused(text):
    with pytest.raises(RequestError):
        parse_url(text.replace("\n", "\n/x") if text.endswith("\n") else text)


@pytest.mark.parametrize(
    ("url", "proxies", "found"),
    [
        ("https://api.test/v1", {}, ""),
        ("https://api.test/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.test/v1", {"https_proxy": "p:1"}, "http://p:1"),
        ("http://api.test/v1", {"HTTPS_PROXY": "http://p:1"}, ""),
        ("http://api.test/v1", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("https://api.test/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.test"}, ""),
        ("https://api.test/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".test, other"}, ""),
        ("https://api.test/v1", {"HTTPS_PROXY": "http://p:1", "no_proxy": "*"}, ""),
        ("https://api.test/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "i.test"}, "http://p:1"),
        ("https://api.test:8/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "api.test:9"}, "http://p:1"),
        ("http://10.1.2.3/v1", {"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, ""),
        ("http://127.0.0.1:8/v1", {"HTTP_PROXY": "http://p:1"}, ""),
        ("http://localhost:8/v1", {"HTTP_PROXY": "http://p:1"}, ""),
    ],
)
def test_proxies_are_chosen_as_the_environment_says(url, proxies, found):
    assert proxy_for(parse_url(url), proxies) == found


async def test_a_proxy_carries_the_request_and_keeps_the_framing():
    async with Server(plain(OK + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")) as proxy:
        transport = HttpTransport({"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}"})
        url = parse_url("http://models.test/v1")
        headers = [("host", "models.test"), ("content-length", "2"), ("content-type", "application/json")]
        response = await transport.send(url, "/v1/x", headers, b"{}", Timeouts())
        assert (response.status, await whole(response)) == (200, b"hello")
        await response.finish()
        assert proxy.requests[0][0].startswith(b"POST http://models.test/v1/x HTTP/1.1\r\n")
        await transport.aclose()
