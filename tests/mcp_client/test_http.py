"""Servers over HTTP, good and hostile: sessions, streams that are resumed, redirects, answers without end."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from mcp_client.web import SAID, TOOLS, Reply, Seen, event, legacy, result, serving, stream, web_plan
from mcp_client.world import running

from wisp.mcp.headers import BadMark, encoded, marks, mirrored
from wisp.mcp.servers import Servers
from wisp.mcp.sse import Events
from wisp.messages.tool import ToolFailure


async def said(servers: Servers, **arguments: Any) -> str:
    server = servers.find("x")
    assert server is not None
    return str((await server.call("echo", arguments))["content"][0]["text"])


async def test_an_older_server_has_a_session_that_every_request_names_and_that_is_ended() -> None:
    """Revision 2025-11-25: id and version in headers, DELETE at the end, headers of the settings everywhere."""
    async with serving(legacy) as (address, log):
        async with running(web_plan("x", address, time.monotonic, {"X-Team": "blue"})) as servers:
            assert servers.states[0].protocol == "2025-11-25"
            assert await said(servers) == "hi"
    asked = [seen.asked or seen.method for seen in log]
    assert asked[:2] == ["server/discover", "initialize"]
    assert asked[-1] == "DELETE"
    assert {"notifications/initialized", "tools/list", "tools/call", "GET"} < set(asked)
    later = log[asked.index("initialize") + 1 :]
    assert {seen.headers["mcp-session-id"] for seen in later} == {"s-1"}
    assert {seen.headers["mcp-protocol-version"] for seen in later} == {"2025-11-25"}
    assert {seen.headers["x-team"] for seen in log} == {"blue"}
    assert all("text/event-stream" in seen.headers["accept"] for seen in log)


def modern(seen: Seen) -> Reply:
    if seen.asked == "server/discover":
        return result(seen, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
    schema = {"type": "object", "properties": {"place": {"type": "string", "x-mcp-header": "Region"}}}
    bad = {"type": "object", "properties": {"p": {"type": "object", "x-mcp-header": "Region"}}}
    if seen.asked == "tools/list":
        return result(
            seen, {"tools": [{"name": "echo", "inputSchema": schema}, {"name": "bad", "inputSchema": bad}]}
        )
    return result(seen, SAID)


async def test_a_server_of_the_newest_revision_gets_what_routes_a_message_in_headers() -> None:
    async with serving(modern) as (address, log):
        async with running(web_plan("x", address, time.monotonic)) as servers:
            assert [tool.definition.name for tool in servers.tools()] == ["echo"]
            await said(servers, place="Zürich")
            await said(servers)
    assert [seen.headers["mcp-method"] for seen in log] == [seen.asked for seen in log]
    assert {seen.headers["mcp-protocol-version"] for seen in log} == {"2026-07-28"}
    first, second = log[-2:]
    assert first.headers["mcp-name"] == "echo"
    assert first.headers["mcp-param-region"] == "=?base64?WsO8cmljaA==?="
    assert "mcp-param-region" not in second.headers
    assert not any("mcp-session-id" in seen.headers or seen.method != "POST" for seen in log)


async def test_a_stream_that_ends_before_the_answer_is_gone_on_with_at_the_servers_pace() -> None:
    """`retry` and `Last-Event-ID`, as WHATWG and the protocol have them."""
    asked: list[int] = []

    def answer(seen: Seen) -> Reply:
        if seen.asked == "tools/call":
            asked.append(seen.body["id"])
            return stream("id: e-1\nretry: 10\ndata:\n\n")
        if seen.method == "GET" and seen.headers.get("last-event-id") == "e-1":
            return stream("id: e-2\nretry: 10\ndata:\n\n", cut=True)
        if seen.method == "GET" and seen.headers.get("last-event-id") == "e-2":
            return stream(event({"id": asked[0], "result": SAID}))
        return legacy(seen)

    async with serving(answer) as (address, log):
        async with running(web_plan("x", address, time.monotonic)) as servers:
            assert await said(servers) == "hi"
    assert [seen.headers["last-event-id"] for seen in log if "last-event-id" in seen.headers] == [
        "e-1",
        "e-2",
    ]
    assert len(asked) == 1


async def test_a_session_that_the_server_forgot_is_begun_again_and_the_call_is_made_once() -> None:
    """404 to a session id: the request was not looked at."""
    sessions = iter(["s-1", "s-2"])
    calls: list[str] = []

    def answer(seen: Seen) -> Reply:
        if seen.asked == "initialize":
            reply = legacy(seen)
            return reply._replace(
                headers=[("content-type", "application/json"), ("mcp-session-id", next(sessions))]
            )
        if seen.asked == "tools/call":
            calls.append(seen.headers["mcp-session-id"])
            if seen.headers["mcp-session-id"] == "s-1":
                return Reply(404)
        return legacy(seen)

    async with serving(answer) as (address, _):
        async with running(web_plan("x", address, time.monotonic)) as servers:
            assert await said(servers) == "hi"
    assert calls == ["s-1", "s-2"]


@pytest.mark.parametrize(
    "where", ["http://127.0.0.1:9/mcp", "https://127.0.0.1/mcp", "//evil.example/mcp", "file:///etc/passwd"]
)
async def test_a_redirect_to_another_origin_is_not_followed(where: str) -> None:
    """What is sent may hold credentials."""
    async with serving(lambda seen: Reply(307, [("location", where)])) as (address, log):
        async with running(
            web_plan("x", address, time.monotonic, {"Authorization": "Bearer secret"})
        ) as servers:
            assert "sends elsewhere" in servers.states[0].error
    assert {seen.path for seen in log} == {"/mcp"}


async def test_a_redirect_within_the_origin_is_followed() -> None:
    def answer(seen: Seen) -> Reply:
        return Reply(308, [("location", "/mcp/")]) if seen.path == "/mcp" else legacy(seen)

    async with serving(answer) as (address, log):
        async with running(web_plan("x", address, time.monotonic)) as servers:
            assert await said(servers) == "hi"
    assert [seen.path for seen in log][:3] == ["/mcp", "/mcp/", "/mcp/"]


BAD: list[tuple[Reply, str]] = [
    (Reply(500), "HTTP 500"),
    (Reply(200, [("content-type", "text/html")], [b"<html>"]), "text/html"),
    (Reply(200, [("content-type", "application/json")], [b"{"]), "without a result"),
    (Reply(200, [("content-type", "application/json")], [b"[]"]), "without a result"),
    (stream("data: nonsense\n\n"), "without a result"),
    (stream(event({"id": 999, "result": SAID})), "without a result"),
    (stream("data: x", cut=True), "broke"),
    (Reply(400, [("content-type", "application/json")],
           [json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no such thing"}}).encode()]),
     "no such thing"),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "why"), BAD)
async def test_an_answer_that_makes_no_sense_ends_its_call_and_only_that(reply: Reply, why: str) -> None:
    first = [reply]

    def answer(seen: Seen) -> Reply:
        return first.pop() if seen.asked == "tools/call" and first else legacy(seen)

    async with serving(answer) as (address, _):
        async with running(web_plan("x", address, time.monotonic)) as servers:
            with pytest.raises(ToolFailure, match=why):
                await said(servers)
            assert await said(servers) == "hi"


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_an_answer_without_end_is_given_up_at_the_limit(kind: str) -> None:
    piece = b"x" * (1 << 20)

    def answer(seen: Seen) -> Reply:
        if seen.asked == "tools/call":
            return Reply(200, [("content-type", kind)], [b"data: ", *([piece] * 40)])
        return legacy(seen)

    async with serving(answer) as (address, _):
        async with running(web_plan("x", address, time.monotonic)) as servers:
            with pytest.raises(ToolFailure, match="more than 16,777,216 bytes"):
                await said(servers)


async def test_silence_ends_at_the_limit_of_the_call() -> None:
    def answer(seen: Seen) -> Reply:
        return stream(": still here\n\n", waits=[5.0]) if seen.asked == "tools/call" else legacy(seen)

    async with serving(answer) as (address, log):
        async with running(web_plan("x", address, time.monotonic, call_limit=0.3)) as servers:
            with pytest.raises(ToolFailure, match="did not answer within"):
                await said(servers)
    assert "notifications/cancelled" in [seen.asked for seen in log]


async def test_nothing_there_is_said_in_one_sentence() -> None:
    async with running(web_plan("x", "http://127.0.0.1:9/mcp", time.monotonic)) as servers:
        assert "nothing listens" in servers.states[0].error


async def test_what_the_server_tells_on_its_own_stream_is_heard() -> None:
    """A list that changed, over the stream that GET opened."""
    told = [{"name": "second", "inputSchema": {"type": "object"}}]

    def answer(seen: Seen) -> Reply:
        if seen.method == "GET":
            return stream(event({"method": "notifications/tools/list_changed"}), waits=[0.2])
        if seen.asked == "tools/list" and any(one.method == "GET" for one in log):
            return result(seen, {"tools": [*TOOLS["tools"], *told]})
        return legacy(seen)

    async with serving(answer) as (address, log):
        async with running(web_plan("x", address, time.monotonic)) as servers:
            for _ in range(600):
                if len(servers.tools()) == 2:
                    break
                import asyncio

                await asyncio.sleep(0.05)
            assert [tool.definition.name for tool in servers.tools()] == ["echo", "second"]


@pytest.mark.parametrize("name", ["", "a b", "a:b", "é", "a\n", 5])
def test_marks_that_are_no_headers_name_are_refused(name: Any) -> None:
    with pytest.raises(BadMark):
        marks({"properties": {"p": {"type": "string", "x-mcp-header": name}}})


@pytest.mark.parametrize("kind", ["number", "array", "object", None])
def test_marks_on_what_is_no_single_value_are_refused(kind: Any) -> None:
    with pytest.raises(BadMark):
        marks({"properties": {"p": {"type": kind, "x-mcp-header": "P"}}})


def test_marks_are_found_within_and_differ_whatever_their_case() -> None:
    nested = {
        "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}}
    }
    assert mirrored(marks(nested), {"a": {"b": 3}}) == {"mcp-param-b": "3"}
    assert mirrored(marks(nested), {"a": None}) == {}
    with pytest.raises(BadMark):
        marks({"properties": {n: {"type": "string", "x-mcp-header": n} for n in ("A", "a")}})


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("plain text", "plain text"),
        (" padded", "=?base64?IHBhZGRlZA==?="),
        ("", "=?base64??="),
        ("a\nb", "=?base64?YQpi?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ],
)
def test_values_are_plain_where_a_header_can_hold_them_and_base64_elsewhere(value: str, sent: str) -> None:
    assert encoded(value) == sent


def test_events_are_the_same_wherever_the_pieces_are_cut() -> None:
    data = b"\xef\xbb\xbfid: 1\r\nretry: 250\r\ndata: a\r\ndata: b\r\n\r\n: c\ndata:x\n\nid: 2\ndata:\n\n"
    for size in range(1, len(data) + 1):
        events, found = Events(), []
        for at in range(0, len(data), size):
            found += events.feed(data[at : at + size])
        assert found == [b"a\nb", b"x"]
        assert (events.last_id, events.retry) == ("2", 0.25)
