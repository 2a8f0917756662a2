"""Logging in to a server: what is believed of what it publishes, what is sent where, what is kept."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest
from mcp_client.web import Reply, Seen, legacy, serving, web_plan
from mcp_client.world import running

from wisp.host.mcplogin import LoginFile
from wisp.host.mcpweb import HttpWeb
from wisp.mcp.discovery import challenge_of, issuer_addresses, read_issuer, read_resource, resource_addresses
from wisp.mcp.http import HttpLink
from wisp.mcp.oauth import Kept, OAuth, Registered
from wisp.mcp.server import Plan
from wisp.providers.oauth import OAuthError


class Service:
    """A server and its authorization server at one address, strict about what the standards ask."""

    def __init__(self, **changed: Any) -> None:
        self.changed = changed
        self.log: list[Seen] = []
        self.good: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.lives = 3600
        self.count = 0

    def __call__(self, seen: Seen) -> Reply:
        self.log.append(seen)
        origin = f"http://{seen.headers['host']}"
        path = urlsplit(seen.path).path
        if path == "/.well-known/oauth-protected-resource/mcp":
            found = {
                "resource": f"{origin}/mcp",
                "authorization_servers": [origin],
                "scopes_supported": ["a", "b"],
            }
            return self._json(200, {**found, **self.changed.get("resource", {})})
        if path == "/.well-known/oauth-authorization-server":
            found = {
                "issuer": origin,
                "authorization_endpoint": f"{origin}/authorize",
                "token_endpoint": f"{origin}/token",
                "registration_endpoint": f"{origin}/register",
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "scopes_supported": ["a", "b", "offline_access"],
                "authorization_response_iss_parameter_supported": True,
            }
            return self._json(200, {**found, **self.changed.get("issuer", {})})
        if path == "/register":
            return self._json(201, {"client_id": "c-1", **seen.body})
        if path == "/authorize":
            return self._authorize(seen, origin)
        if path == "/token":
            return self._token(seen)
        if path != "/mcp":
            return Reply(404)
        if seen.headers.get("authorization", "").removeprefix("Bearer ") in self.good:
            return legacy(seen)
        return Reply(401, [("www-authenticate", 'Bearer error="invalid_token"')])

    def _authorize(self, seen: Seen, origin: str) -> Reply:
        query = dict(parse_qsl(urlsplit(seen.path).query))
        assert query["response_type"] == "code" and query["code_challenge_method"] == "S256"
        assert urlsplit(query["redirect_uri"]).hostname == "127.0.0.1"
        self.codes["code-1"] = query
        issuer = self.changed.get("iss", origin)
        return Reply(
            302, [("location", f"{query['redirect_uri']}?code=code-1&state={query['state']}&iss={issuer}")]
        )

    def _token(self, seen: Seen) -> Reply:
        form = {name: values[0] for name, values in parse_qs(seen.body).items()}
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"])
            proof = (
                base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
                .rstrip(b"=")
                .decode()
            )
            assert proof == asked["code_challenge"]
            assert form["redirect_uri"] == asked["redirect_uri"] and form["client_id"] == asked["client_id"]
            assert form["resource"] == asked["resource"]
        elif form["refresh_token"] != f"refresh-{self.count}":
            return self._json(400, {"error": "invalid_grant"})
        self.count += 1
        self.good = {f"access-{self.count}"}
        return self._json(
            200,
            {
                "access_token": f"access-{self.count}",
                "token_type": "Bearer",
                "expires_in": self.lives,
                "refresh_token": f"refresh-{self.count}",
            },
        )

    @staticmethod
    def _json(status: int, value: Any) -> Reply:
        return Reply(status, [("content-type", "application/json")], [json.dumps(value).encode()])


class Agreeing:
    """A person whose browser goes where it is sent."""

    redirect = "http://127.0.0.1:4711/callback"

    def __init__(self) -> None:
        self.shown: list[str] = []

    @asynccontextmanager
    async def asking(self, state: str, port: int) -> AsyncIterator[Agreeing]:
        yield self

    async def agreed(self, address: str) -> tuple[str, str]:
        self.shown.append(address)
        web = HttpWeb({})
        found = dict(parse_qsl(urlsplit((await web.request("GET", address, {})).headers["location"]).query))
        await web.close()
        return found["code"], found.get("iss", "")


class Memory:
    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()

    def load(self) -> Kept:
        return self.kept

    def save(self, kept: Kept) -> None:
        self.kept = kept


def _plan(address: str, memory: Memory, person: Agreeing | None) -> Plan:
    def link() -> HttpLink:
        web = HttpWeb({})
        auth = OAuth(address, web, memory, person, time.time, hint="run 'wisp mcp login x'")
        return HttpLink(address, {}, web, time.monotonic, auth)

    return Plan("x", link, start_limit=60.0, call_limit=60.0)


async def test_a_login_registers_proves_itself_and_asks_for_this_server_only() -> None:
    service, memory, person = Service(), Memory(), Agreeing()
    async with serving(service) as (address, _):
        async with running(_plan(address, memory, person)) as servers:
            assert servers.states[0].status == "started"
    query = dict(parse_qsl(urlsplit(person.shown[0]).query))
    assert query["resource"] == address
    assert query["scope"] == "a b offline_access"
    assert memory.kept.access == "access-1" and memory.kept.refresh == "refresh-1"
    assert memory.kept.registered is not None and memory.kept.registered.client_id == "c-1"
    [registered] = [seen.body for seen in service.log if seen.path == "/register"]
    assert registered["application_type"] == "native"
    assert registered["redirect_uris"] == [person.redirect]
    elsewhere = [seen for seen in service.log if seen.path != "/mcp"]
    assert not any("authorization" in seen.headers for seen in elsewhere)


async def test_where_nobody_can_be_asked_it_is_said_what_to_do() -> None:
    async with serving(Service()) as (address, _):
        async with running(_plan(address, Memory(), None)) as servers:
            assert servers.states[0].error == "it wants a login: run 'wisp mcp login x'"


@pytest.mark.parametrize("stale", [False, True])
async def test_a_token_is_renewed_before_it_ends_and_after_it_was_refused(stale: bool) -> None:
    service = Service()
    service.count = 7
    async with serving(service) as (address, _):
        origin = address.removesuffix("/mcp")
        ends = time.time() + (10 if stale else 5000)
        memory = Memory(Kept(Registered(origin, "c-1"), "access-old", "refresh-7", ends, "a"))
        async with running(_plan(address, memory, None)) as servers:
            assert servers.states[0].status == "started"
    assert memory.kept.access == "access-8"
    assert memory.kept.refresh == "refresh-8"


async def test_a_refresh_token_that_is_no_longer_good_is_forgotten() -> None:
    async with serving(Service()) as (address, _):
        memory = Memory(Kept(Registered(address.removesuffix("/mcp"), "c-1"), "old", "void", 0.0))
        async with running(_plan(address, memory, None)) as servers:
            assert "wisp mcp login x" in servers.states[0].error
    assert not memory.kept.refresh and not memory.kept.access


async def test_what_one_issuer_gave_is_not_shown_to_another() -> None:
    """The server names another authorization server than before."""
    service, person = Service(), Agreeing()
    async with serving(service) as (address, _):
        memory = Memory(
            Kept(Registered("https://old.example", "old-id", "old-secret", "client_secret_post"), "o", "r")
        )
        async with running(_plan(address, memory, person)) as servers:
            assert servers.states[0].status == "started"
    sent = json.dumps([[seen.path, seen.body] for seen in service.log if seen.path != "/mcp"])
    assert "old-id" not in sent and "old-secret" not in sent


BAD: list[tuple[dict[str, Any], str]] = [
    ({"issuer": {"authorization_endpoint": "http://x.example/$(touch pwned)"}}, "not an address"),
    ({"issuer": {"authorization_endpoint": "file:///x"}}, "not an address"),
    ({"issuer": {"authorization_endpoint": "javascript:1"}}, "not an address"),
    ({"issuer": {"token_endpoint": "http://x.example/token"}}, "not https"),
    ({"issuer": {"registration_endpoint": "http://x.example/"}}, "not https"),
    ({"issuer": {"issuer": "https://other.example"}}, "name another issuer"),
    ({"issuer": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
    ({"resource": {"resource": "https://other.example/mcp"}}, "another resource"),
    ({"resource": {"authorization_servers": []}}, "no authorization server"),
    ({"resource": {"authorization_servers": ["http://x.example"]}}, "not https"),
    ({"iss": "https://other.example"}, "the answer is from"),
    ({"iss": ""}, "the answer is from"),
]


@pytest.mark.parametrize(("changed", "why"), BAD)
async def test_what_is_not_as_it_must_be_ends_the_login(changed: dict[str, Any], why: str) -> None:
    """CVE-2025-6514 and its kind, mix-up, addresses that are read on the way."""
    memory = Memory()
    async with serving(Service(**changed)) as (address, _):
        async with running(_plan(address, memory, Agreeing())) as servers:
            assert why in servers.states[0].error
    assert not memory.kept.access


async def test_a_server_that_refuses_for_ever_is_not_asked_for_ever() -> None:
    asked: list[int] = []

    class Never:
        async def header(self) -> str:
            return "Bearer x"

        async def challenged(self, status: int, challenge: str) -> bool:
            asked.append(status)
            return True

    async with serving(lambda seen: Reply(401)) as (address, _):
        async with running(web_plan("x", address, time.monotonic, authorizer=Never())) as servers:
            assert "goes on refusing" in servers.states[0].error
    assert len(asked) <= 6


def test_metadata_are_read_at_the_server_itself_and_nowhere_else() -> None:
    """RFC 9728: first below the path, then at the root; an address of another origin is not opened."""
    assert resource_addresses("https://a.example/x/mcp", "") == [
        "https://a.example/.well-known/oauth-protected-resource/x/mcp",
        "https://a.example/.well-known/oauth-protected-resource",
    ]
    for stated in (
        "https://b.example/m",
        "http://a.example/m",
        "https://a.example.evil/m",
        "https://a.example@b/m",
    ):
        with pytest.raises(OAuthError, match="elsewhere"):
            resource_addresses("https://a.example/mcp", stated)


@pytest.mark.parametrize(
    ("name", "good"),
    [("https://a.example/mcp", True), ("https://a.example", True), ("https://a.example/mcp/", True),
     ("https://a.example/mc", False), ("https://a.example/mcp/x", False), ("http://a.example/mcp", False), ("", False)],
)  # fmt: skip
def test_a_resource_is_the_server_or_what_it_lies_below(name: str, good: bool) -> None:
    body = json.dumps({"resource": name, "authorization_servers": ["https://i"]}).encode()
    if good:
        assert read_resource("https://a.example/mcp", body).name == name
    else:
        with pytest.raises(OAuthError):
            read_resource("https://a.example/mcp", body)


def test_issuers_are_looked_for_where_the_standards_have_them() -> None:
    """RFC 8414 and OpenID Connect discovery."""
    assert issuer_addresses("https://i.example/t") == [
        "https://i.example/.well-known/oauth-authorization-server/t",
        "https://i.example/.well-known/openid-configuration/t",
        "https://i.example/t/.well-known/openid-configuration",
    ]
    with pytest.raises(OAuthError):
        read_issuer("https://i.example", b"[]")


def test_challenges_are_read_as_rfc_6750_writes_them() -> None:
    found = challenge_of(
        'Basic realm="x", Bearer error="insufficient_scope", scope="a b", resource_metadata="https://r/m"'
    )
    assert (found.error, found.scope, found.metadata) == ("insufficient_scope", "a b", "https://r/m")
    assert challenge_of("Basic x").scope == ""


def test_logins_are_kept_privately_and_not_read_from_where_others_could_have_written(tmp_path: Path) -> None:
    path = tmp_path / "state" / "mcp-logins.json"
    one, two = LoginFile(str(path), "https://a"), LoginFile(str(path), "https://b")
    one.save(Kept(access="A"))
    two.save(Kept(access="B"))
    assert (one.load().access, two.load().access) == ("A", "B")
    assert path.stat().st_mode & 0o777 == 0o600
    one.save(Kept())
    assert (one.load().access, two.load().access) == ("", "B")
    path.chmod(0o644)
    assert two.load().access == ""
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere.json")
    (tmp_path / "elsewhere.json").write_text('{"https://b": {"access": "evil"}}')
    assert two.load().access == ""
    assert "A" not in repr(Kept(access="A"))


async def test_the_program_logs_in_and_its_runs_use_the_login(tmp_path: Path) -> None:
    """`wisp mcp login` shows an address; a browser follows it; `test` works; `logout` forgets."""
    import asyncio

    async with serving(Service()) as (address, _):
        (tmp_path / "config").mkdir()
        (tmp_path / "config" / "settings.toml").write_text(f'[mcp_servers.x]\nurl = "{address}"\n')
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "WISP_HOME": str(tmp_path)}

        async def wisp(*words: str) -> tuple[int, str]:
            made = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "wisp", "mcp", *words, cwd=tmp_path, env=env,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            assert made.stdout is not None
            said = ""
            while line := (await made.stdout.readline()).decode():
                said += line
                if line.strip().startswith("http://"):
                    await asyncio.to_thread(_browse, line.strip())
            return await made.wait(), said

        before = await wisp("test", "x")
        login = await wisp("login", "x")
        after = await wisp("test", "x")
        gone = await wisp("logout", "x")
        again = await wisp("test", "x")
    assert (before[0], login[0], after[0], gone[0], again[0]) == (1, 0, 0, 0, 1), (before, login, after)
    assert "wisp mcp login x" in before[1]
    assert "works" in after[1]
    assert not list(tmp_path.glob("state/mcp-logins.json.*"))


def _browse(address: str) -> None:
    """Follow redirects, as a browser does."""
    with urllib.request.urlopen(address) as answer:
        assert b"logged in" in answer.read()
