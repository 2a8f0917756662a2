"""OAuth against a real authorization server on loopback: every ending of both kinds of login, and renewal."""

import asyncio
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from host.authorization_server import AuthorizationServer

from wisp.host.credentials import CredentialFile, Stored
from wisp.host.login import Server, stored_from
from wisp.host.renewal import Renewer, RenewingProvider
from wisp.host.settings import OAuthSettings
from wisp.messages.ids import FixedClock, SystemClock
from wisp.messages.message import user
from wisp.providers import oauth
from wisp.providers.base import ModelInfo, ModelRequest
from wisp.providers.errors import ProviderError
from wisp.providers.events import Failed
from wisp.providers.http import HttpTransport
from wisp.providers.oauth import OAuthError, Token
from wisp.providers.scripted import ScriptedProvider


@pytest.fixture
def server():
    with AuthorizationServer() as running:
        yield running


@pytest.fixture
async def transport():
    made = HttpTransport()
    yield made
    await made.aclose()


def client(server: AuthorizationServer, transport: HttpTransport, clock: Any = None, **more: Any) -> Server:
    settings = msgspec.convert(server.settings(**more), OAuthSettings)
    return Server(transport, settings, clock or FixedClock(1000.0))


async def browse(address: str) -> str:
    """GET `address` as a browser on this machine; the status line and page."""
    url = urlsplit(address)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    writer.write(f"GET {url.path}?{url.query} HTTP/1.1\r\nhost: {url.netloc}\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def login(server: Server, answer: Any, patience: float = 20.0) -> tuple[Any, list[str]]:
    """A browser login in which `answer(address)` gives the addresses that arrive at the callback."""
    pages: list[str] = []
    shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(server.by_browser(shown.set_result, patience))
    await asyncio.wait([running, shown], return_when=asyncio.FIRST_COMPLETED)
    if shown.done():
        for address in answer(shown.result()):
            pages.append(await browse(address))
    return (await asyncio.gather(running, return_exceptions=True))[0], pages


# -- in a browser -----------------------------------------------------------------------------------------


async def test_agreeing_in_the_browser_gives_a_token(server, transport):
    def answer(address):
        code, asked = server.agree(address)
        assert asked["redirect_uri"].startswith("http://127.0.0.1:")
        return [f"{asked['redirect_uri']}?code={code}&state={asked['state']}"]

    token, pages = await login(client(server, transport), answer)
    assert token.access in server.access
    assert (token.refresh, token.expires_at, token.scope) == (server.refresh, 4600.0, "chat")
    assert "You are logged in" in pages[0]
    assert server.forms[0]["code_verifier"] not in "".join(pages)
    assert "canary" not in repr(token)


async def test_nothing_listens_before_or_after_a_login(server, transport):
    ports = []

    def answer(address):
        code, asked = server.agree(address)
        ports.append(urlsplit(asked["redirect_uri"]).port)
        return [f"{asked['redirect_uri']}?code={code}&state={asked['state']}"]

    await login(client(server, transport), answer)
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", ports[0])


async def test_denial_says_so_and_a_login_that_was_denied_is_over(server, transport):
    def answer(address):
        _, asked = server.agree(address)
        return [f"{asked['redirect_uri']}?error=access_denied&state={asked['state']}"]

    error, pages = await login(client(server, transport), answer)
    assert isinstance(error, OAuthError)
    assert (error.code, str(error)) == ("access_denied", "the login failed: it was denied")
    assert server.forms == []
    assert "refused" in pages[0]


async def test_an_answer_without_our_state_is_refused_and_the_login_goes_on(server, transport):
    """Any page in the person's browser can send one; neither a code nor a denial of it counts."""

    def answer(address):
        code, asked = server.agree(address)
        there = asked["redirect_uri"]
        return [
            f"{there}?code=stolen&state=guess",
            f"{there}?error=access_denied",
            f"{there}?code=stolen&state={asked['state']}&state=x",
            f"{there}/elsewhere?code=stolen&state={asked['state']}",
            f"{there}?state={asked['state']}",
            f"{there}?code={code}&state={asked['state']}",
        ]

    token, pages = await login(client(server, transport), answer)
    assert [page.split()[1] for page in pages] == ["400", "400", "400", "404", "400", "200"]
    assert token.access in server.access
    assert [form["code"][:4] for form in server.forms] == ["code"]


async def test_a_code_is_worth_nothing_without_our_verifier(server, transport):
    def answer(address):
        code, asked = server.agree(address)
        server.codes[code] = {**asked, "code_challenge": "another"}
        return [f"{asked['redirect_uri']}?code={code}&state={asked['state']}"]

    error, _ = await login(client(server, transport), answer)
    assert isinstance(error, OAuthError)
    assert error.code == "invalid_grant"


async def test_nobody_agrees(server, transport):
    error, _ = await login(client(server, transport), lambda address: [], patience=0.05)
    assert "nobody agreed within 0.05 s" in str(error)


async def test_garbage_at_the_callback_changes_nothing(server, transport):
    async def throw(port: int, data: bytes) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        writer.write_eof()
        writer.close()

    shown = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(client(server, transport).by_browser(shown.set_result, 20.0))
    code, asked = server.agree(await shown)
    port = urlsplit(asked["redirect_uri"]).port
    for data in (b"", b"\x16\x03\x01\x02\x00", b"GET", b"A" * 40_000, b"POST /callback HTTP/1.1\r\n\r\n"):
        await throw(port, data)
    await browse(f"{asked['redirect_uri']}?code={code}&state={asked['state']}")
    assert (await running).access in server.access


async def test_a_cancelled_login_listens_no_more(server, transport):
    shown = asyncio.get_running_loop().create_future()
    running = asyncio.ensure_future(client(server, transport).by_browser(shown.set_result, 20.0))
    _, asked = server.agree(await shown)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(OSError):
        await browse(asked["redirect_uri"])


async def test_a_port_that_is_taken_is_said(server, transport):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error, _ = await login(client(server, transport, redirect_port=port), lambda address: [])
    assert f"127.0.0.1:{port}" in str(error)


async def test_where_a_server_publishes_its_addresses_they_need_not_be_given(server, transport):
    bare = {"authorization_url": "", "token_url": "", "device_url": ""}
    found = await client(server, transport, issuer=server.url + "/tenant", **bare).client()
    assert (found.token_url, found.device_url) == (server.url + "/token", server.url + "/device")
    with pytest.raises(OAuthError, match="publishes no metadata"):
        await client(server, transport, issuer=server.url, **bare).client()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"token_url": "http://models.example/token"}, "not https"),
        ({"authorization_url": "ftp://x"}, "not an address"),
        ({"client_id": ""}, "client_id"),
        ({"token_url": ""}, "token_url"),
        ({"authorization_url": "", "device_url": ""}, "device_url"),
    ],
)
async def test_a_login_that_would_be_unsafe_or_cannot_work_is_not_begun(server, transport, change, words):
    with pytest.raises(OAuthError, match=words):
        await client(server, transport, **change).by_browser(lambda address: pytest.fail("begun"))


# -- on another device ------------------------------------------------------------------------------------


class Naps:
    """Time that passes only while somebody sleeps."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock, self.taken = clock, []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        self.clock.advance(seconds)


async def by_device(
    server: AuthorizationServer, transport: HttpTransport
) -> tuple[Any, list[float], list[Any]]:
    clock, shown = FixedClock(1000.0), []
    naps = Naps(clock)
    running = client(server, transport, clock).by_device(shown.append, naps)
    return (await asyncio.gather(running, return_exceptions=True))[0], naps.taken, shown


async def test_a_device_login_waits_as_long_as_it_was_told(server, transport):
    server.device_answers = ["authorization_pending", "authorization_pending"]
    token, naps, shown = await by_device(server, transport)
    assert token.access in server.access
    assert naps == [1.0, 1.0, 1.0]
    assert (shown[0].user_code, shown[0].complete_url) == ("WDJB-MJHT", server.url + "/go?code=WDJB-MJHT")
    assert server.forms[0] == {"client_id": "wisp-cli", "scope": "chat models:read"}


async def test_slow_down_adds_five_seconds_for_good(server, transport):
    server.device_answers = ["slow_down", "authorization_pending", "slow_down"]
    token, naps, _ = await by_device(server, transport)
    assert token.access in server.access
    assert naps == [1.0, 6.0, 6.0, 11.0]


async def test_without_an_interval_it_is_five_seconds(server, transport):
    server.interval = None
    _, naps, _ = await by_device(server, transport)
    assert naps == [5.0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [("access_denied", "it was denied"), ("expired_token", "ran out"), ("invalid_client", "client_id")],
)
async def test_a_final_no_ends_a_device_login(server, transport, answer, words):
    server.device_answers = ["authorization_pending", answer]
    error, naps, _ = await by_device(server, transport)
    assert words in str(error)
    assert len(naps) == 2


async def test_a_code_that_runs_out_is_not_asked_for_any_more(server, transport):
    server.device_lives = 10
    server.device_answers = ["authorization_pending"] * 100
    error, naps, _ = await by_device(server, transport)
    assert error.code == "expired_token"
    assert sum(naps) <= 10


@pytest.mark.parametrize("page", [b"", b"<html>", b"[]", b'{"device_code": 5}', b"\xff\xfe"])
async def test_what_is_no_answer_is_an_error_and_never_an_exception(server, transport, page):
    server.fail = (200, page)
    error, _, _ = await by_device(server, transport)
    assert isinstance(error, OAuthError)


# -- revoking ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["settings", "metadata"])
async def test_a_logout_revokes_both_tokens_the_refresh_token_first(server, transport, how):
    token = oauth.read_token(200, msgspec.json.encode(server.issue()), 0.0)
    told = (
        {"revocation_url": server.url + "/revoke"}
        if how == "settings"
        else {"issuer": server.url + "/tenant"}
    )
    assert await client(server, transport, **told).revoke(token) is True
    assert (server.refresh, server.access) == ("", set())
    assert server.forms == [
        {"token": token.refresh, "token_type_hint": "refresh_token", "client_id": "wisp-cli"},
        {"token": token.access, "token_type_hint": "access_token", "client_id": "wisp-cli"},
    ]
    assert await client(server, transport, **told).revoke(token) is True, "RFC 7009, 2.2: unknown is revoked"


async def test_a_server_that_names_no_place_to_revoke_is_not_asked(server, transport):
    assert await client(server, transport).revoke(Token("a", "r")) is False
    assert server.forms == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((503, b""), "HTTP 503"),
        ((400, b'{"error":"unsupported_token_type"}'), "unsupported_token_type"),
        ((401, b'{"error":"invalid_client"}'), "client_id"),
    ],
)
async def test_a_server_that_does_not_revoke_is_quoted_and_no_token_is(server, transport, answer, words):
    server.fail = answer
    with pytest.raises(OAuthError, match="was not revoked") as caught:
        await client(server, transport, revocation_url=server.url + "/revoke").revoke(
            Token("canary-a", "canary-r")
        )
    assert words in str(caught.value)
    assert "canary" not in str(caught.value)


async def test_tokens_are_not_revoked_over_a_connection_that_others_can_read(server, transport):
    with pytest.raises(OAuthError, match="not https"):
        await client(server, transport, revocation_url="http://login.example/revoke").revoke(Token("a", "r"))


# -- renewing ---------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> CredentialFile:
    return CredentialFile(str(tmp_path / "credentials.json"))


def logged_in(server: AuthorizationServer, file: CredentialFile, now: float = 1000.0) -> str:
    token = oauth.read_token(200, msgspec.json.encode(server.issue()), now)
    file.put("x", stored_from(token))
    return token.access


async def test_a_token_is_renewed_before_its_end_and_kept_with_its_new_refresh_token(server, transport, file):
    clock = FixedClock(1000.0)
    renewer = Renewer("x", file, client(server, transport, clock), clock)
    old = logged_in(server, file)
    assert await renewer.token(old) == old
    clock.advance(3600.0 - 59)
    new = await renewer.token(old)
    assert new != old
    assert new in server.access
    assert file.get("x") == Stored("oauth", new, server.refresh, clock.now() + 3600.0, "chat")
    assert await renewer.token(new) == new
    assert len(server.forms) == 1


async def test_a_server_that_does_not_rotate_keeps_its_refresh_token(transport, file):
    with AuthorizationServer(rotates=False) as server:
        clock = FixedClock(1000.0)
        old = logged_in(server, file)
        renewer = Renewer("x", file, client(server, transport, clock), clock)
        await renewer.token(old, refused=True)
        assert file.get("x").refresh == server.refresh


async def test_a_login_that_ended_says_how_to_begin_again_and_stays_stored(server, transport, file):
    clock = FixedClock(1000.0)
    old = logged_in(server, file)
    server.void = True
    renewer = Renewer("x", file, client(server, transport, clock), clock)
    with pytest.raises(OAuthError, match="run 'wisp login x'"):
        await renewer.token(old, refused=True)
    assert file.get("x").secret == old
    server.fail = (503, b"busy")
    with pytest.raises(ProviderError):
        await renewer.token(old, refused=True)
    file.remove("x")
    with pytest.raises(OAuthError, match="no longer stored"):
        await renewer.token(old)


RENEW = """
    import asyncio, sys, msgspec
    from wisp.host.credentials import CredentialFile
    from wisp.host.login import Server
    from wisp.host.renewal import Renewer
    from wisp.host.settings import OAuthSettings
    from wisp.messages.ids import SystemClock
    from wisp.providers.http import HttpTransport

    async def main():
        clock, transport = SystemClock(), HttpTransport()
        server = Server(transport, msgspec.json.decode(sys.argv[2], type=OAuthSettings), clock)
        print(await Renewer("x", CredentialFile(sys.argv[1]), server, clock).token(sys.argv[3]))
        await transport.aclose()

    asyncio.run(main())
"""


@pytest.mark.parametrize("count", [2, 8])
def test_processes_that_renew_at_once_send_a_refresh_token_once(file, count):
    """The server ends the login when an old refresh token comes back; so none may (B127)."""
    with AuthorizationServer(slow=0.3) as server:
        old = logged_in(server, file)  # expired long ago by the real clock
        settings = msgspec.json.encode(server.settings()).decode()
        running = [
            subprocess.Popen(
                [sys.executable, "-c", textwrap.dedent(RENEW), file.path, settings, old],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(count)
        ]
        said = [process.communicate(timeout=60) for process in running]
        assert [process.returncode for process in running] == [0] * count, said
        assert {out.strip() for out, _ in said} == {file.get("x").secret}
        assert len(server.forms) == 1
        assert not server.void


async def test_a_cancelled_run_does_not_lose_the_token_it_asked_for(transport, file):
    with AuthorizationServer(slow=0.3) as server:
        old = logged_in(server, file)
        renewer = Renewer("x", file, client(server, transport, SystemClock()), SystemClock())
        asking = asyncio.ensure_future(renewer.token(old))
        while not server.forms:
            await asyncio.sleep(0.01)
        asking.cancel()
        await renewer.aclose()
        assert asking.cancelled()
        assert file.get("x").secret in server.access - {old}
        assert file.try_lock() is not None


class Refusing:
    """A provider that accepts one token."""

    name, api = "x", "openai-chat"

    def __init__(self, token: str, good: set[str], asked: list[str]) -> None:
        self._token, self._good, self._asked = token, good, asked

    async def stream(self, request):
        self._asked.append(self._token)
        if self._token not in self._good:
            yield Failed("auth", "HTTP 401", 401)
            return
        async for event in ScriptedProvider(["hello"]).stream(request):
            yield event


async def test_a_token_the_service_refuses_is_renewed_once_and_the_request_made_again(
    server, transport, file
):
    clock, asked = FixedClock(1000.0), []
    old = logged_in(server, file)
    server.access.discard(old)
    renewer = Renewer("x", file, client(server, transport, clock), clock)
    provider = RenewingProvider(old, lambda token: Refusing(token, server.access, asked), renewer)
    request = ModelRequest(ModelInfo("m"), [user("go")])
    told: list[str] = []
    provider.renewed = told.append
    events = [event async for event in provider.stream(request)]
    assert not any(isinstance(event, Failed) for event in events)
    assert asked == [old, file.get("x").secret]
    assert told == asked[1:]

    server.access.clear()
    server.lives = 3600
    last = RenewingProvider(asked[-1], lambda token: Refusing(token, set(), asked), renewer)
    events = [event async for event in last.stream(request)]
    assert [type(event) for event in events] == [Failed]
    assert len(asked) == 4
