"""Servers over stdio, good and hostile: none costs a session more than its limit, or anything but its tools."""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from mcp_client.world import plan, running

from wisp.mcp.servers import Servers
from wisp.messages.content import Image, Text
from wisp.messages.tool import ToolFailure
from wisp.tools.base import RunContext
from wisp.workspace.stop import StopToken

HI = {"message": "hi"}


async def said(servers: Servers, arguments: dict[str, Any] = HI, name: str = "x", tool: str = "echo") -> str:
    server = servers.find(name)
    assert server is not None
    result = await server.call(tool, arguments)
    return str(result["content"][0]["text"])


def errors(servers: Servers) -> list[str]:
    return [state.error for state in servers.states]


async def test_a_server_is_started_listed_called_and_gone_afterwards() -> None:
    async with running(plan("x", "plain")) as servers:
        assert [tool.spec.name for tool in servers.tools()] == ["mcp__x__echo"]
        assert [state.status for state in servers.states] == ["started"]
        assert await said(servers) == "Echo: hi"
        assert [state.status for state in servers.states] == ["used"]
        assert servers.states[0].version == "test 1"
    assert [state.status for state in servers.states] == ["known"]


async def test_requests_have_the_form_of_the_protocol() -> None:
    """Revision 2025-11-25: handshake, then `initialized`, then the rest, ids counted up."""
    async with running(plan("x", "seen")) as servers:
        seen = json.loads(await said(servers))
    assert [message.get("method") for message in seen] == [
        "initialize", "notifications/initialized", "tools/list", "tools/call",
    ]  # fmt: skip
    assert seen[0]["params"]["protocolVersion"] == "2025-11-25"
    assert seen[0]["params"]["clientInfo"] == {"name": "wisp", "version": "test"}
    assert seen[0]["params"]["capabilities"] == {"roots": {}}
    assert {message["jsonrpc"] for message in seen} == {"2.0"}
    assert [message["id"] for message in seen if "id" in message] == [1, 2, 3]


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
async def test_older_revisions_are_accepted(version: str) -> None:
    async with running(plan("x", "version", version)) as servers:
        assert servers.states[0].protocol == version
        assert await said(servers) == "Echo: hi"


async def test_a_version_nobody_knows_is_named() -> None:
    async with running(plan("x", "version", "1999-01-01")) as servers:
        assert "'1999-01-01'" in errors(servers)[0]
        assert servers.tools() == ()


async def test_a_server_of_the_newest_era_is_spoken_to_without_handshake_and_asks_back() -> None:
    """Revision 2026-07-28: who asks stands in every request; the state comes back untouched, under a new id."""
    async with running(plan("x", "modern")) as servers:
        params = json.loads(await said(servers))
        assert servers.states[0].protocol == "2026-07-28"
    meta = params["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "wisp"
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}
    assert params["requestState"] == "opaque"
    assert params["inputResponses"] == {"r": {"roots": [{"uri": "file:///work", "name": "work"}]}}
    assert (params["name"], params["arguments"]) == ("echo", HI)


async def test_lists_are_read_page_by_page() -> None:
    async with running(plan("x", "pages", "35")) as servers:
        assert [tool.spec.name for tool in servers.tools()] == [f"mcp__x__t{n:03}" for n in range(35)]


@pytest.mark.parametrize(
    ("mode", "why"), [("circle", "round in circles"), ("endless", "pages"), ("nolist", "no list of tools")]
)
async def test_lists_that_make_no_sense_end(mode: str, why: str) -> None:
    async with running(plan("x", mode)) as servers:
        assert why in errors(servers)[0]


async def test_one_bad_server_costs_the_others_nothing() -> None:
    """Started side by side: a silent one takes its limit, one that exits none of it."""
    began = time.monotonic()
    async with running(
        plan("bad", "silent", start_limit=1.0), plan("gone", "exits", "7"), plan("good", "plain")
    ) as servers:
        took = time.monotonic() - began
        assert [state.status for state in servers.states] == ["failed", "failed", "started"]
        assert "not ready within 1 s" in errors(servers)[0]
        assert "exit code 7" in errors(servers)[1] and "nonsense" in errors(servers)[1]
        assert await said(servers, name="good") == "Echo: hi"
        assert len(servers.notes) == 2
    assert took < 45


async def test_a_program_that_is_not_there_is_named() -> None:
    from mcp_client.world import program

    from wisp.mcp.server import Plan
    from wisp.mcp.stdio import StdioLink

    link = lambda: StdioLink(program("/no/such/program"), time.monotonic)  # noqa: E731
    async with running(Plan("x", link)) as servers:
        assert "/no/such/program" in errors(servers)[0]


async def test_noise_before_and_beside_messages_is_no_harm() -> None:
    """Banners, a megabyte of letters, broken UTF-8, JSON that is no message, a flood on standard error."""
    async with running(plan("x", "noise")) as servers:
        assert await said(servers) == "Echo: hi"


@pytest.mark.parametrize("mode", ["flood", "endless_line"])
async def test_a_flood_ends_the_server_not_the_session(mode: str) -> None:
    async with running(plan("x", mode)) as servers:
        assert "it sent" in errors(servers)[0]


async def test_a_result_of_a_gigabyte_closes_the_call() -> None:
    """In bounded memory: what is kept of it is less than the limit of one line and some pieces."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with running(plan("x", "gigabyte")) as servers:
        with pytest.raises(ToolFailure, match="more than 16,777,216 bytes") as failed:
            await said(servers)
        assert failed.value.code == "server_lost"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 200 * 1024  # KiB


async def test_a_server_that_dies_during_a_call_ends_that_call_and_is_started_once_more() -> None:
    async with running(plan("x", "dies")) as servers:
        for _ in range(2):
            with pytest.raises(ToolFailure, match="exit code 3") as failed:
                await said(servers)
            assert failed.value.code == "server_lost"
        with pytest.raises(ToolFailure, match="cannot be used"):
            await said(servers)
        assert [tool.spec.name for tool in servers.tools()] == ["mcp__x__echo"]


async def test_after_a_restart_that_helped_it_may_be_restarted_again(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    async with running(plan("x", "dies_once", str(mark))) as servers:
        for _ in range(3):
            with pytest.raises(ToolFailure, match="exit code 4"):
                await said(servers)
            assert await said(servers) == "Echo: hi"
            mark.unlink()


async def test_a_call_without_an_answer_ends_at_its_limit_and_the_server_is_told() -> None:
    async with running(plan("x", "deaf", call_limit=0.5)) as servers:
        with pytest.raises(ToolFailure, match=r"did not answer within 0\.5 s") as failed:
            await said(servers)
        assert failed.value.code == "timeout"
        assert await said(servers, {"message": "quick"}) == "quick"


async def test_a_cancelled_call_settles_at_once_and_the_server_is_told() -> None:
    async with running(plan("x", "deaf"), plan("y", "seen")) as servers:
        call = asyncio.ensure_future(said(servers))
        await asyncio.sleep(0.1)
        call.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert time.monotonic() - began < 5
        assert await said(servers, {"message": "quick"}) == "quick"


@pytest.mark.parametrize(("mode", "right"), [("twice", "first"), ("strangers", "Echo: hi")])
async def test_answers_that_nobody_waits_for_are_dropped(mode: str, right: str) -> None:
    async with running(plan("x", mode)) as servers:
        assert await said(servers) == right
        assert await said(servers) == right


BROKEN = [
    ('{"Jsonrpc":"2.0","ID":ID,"Result":{"content":[]}}', "did not answer"),
    ('{"jsonrpc":"2.0","id":ID,"result":{},"result":{"content":[]}}', "appears twice"),
    ('{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"m"}}', "or both"),
    ('{"jsonrpc":"2.0","id":ID,"result":[]}', "no object"),
    ('{"jsonrpc":"2.0","id":ID,"error":"no"}', "no object"),
    ('{"jsonrpc":"2.0","id":ID,"result":{"x":NaN}}', "NaN"),
    (
        '{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"bad \\u001b[2Jarguments"}}',
        "bad arguments",
    ),
]


@pytest.mark.parametrize(("line", "why"), BROKEN)
async def test_an_answer_that_cannot_be_read_ends_its_call_and_only_that(line: str, why: str) -> None:
    """Names count exactly as written and none may stand twice (CVE-2026-27896 and its kind)."""
    async with running(plan("x", "answer", line, call_limit=2.0)) as servers:
        with pytest.raises(ToolFailure, match=why) as failed:
            await said(servers)
        assert failed.value.code in ("server_error", "timeout")
        assert servers.states[0].status in ("started", "used")


async def test_progress_is_told_and_does_not_prolong() -> None:
    told: list[tuple[float, float | None, str]] = []
    async with running(plan("x", "progress")) as servers:
        server = servers.find("x")
        assert server is not None
        await server.call("echo", HI, lambda *what: told.append(what))
    assert (1, 2, "step 1") in told or (2, 2, "step 2") in told


async def test_roots_are_answered_and_a_ping_too() -> None:
    async with running(plan("x", "asks", "roots/list"), plan("y", "asks", "ping")) as servers:
        roots = json.loads(await said(servers))
        ping = json.loads(await said(servers, name="y"))
    assert roots["result"] == {"roots": [{"uri": "file:///work", "name": "work"}]}
    assert ping["result"] == {}


@pytest.mark.parametrize("method", ["sampling/createMessage", "elicitation/create", "no/such"])
async def test_no_model_is_lent_and_nobody_is_asked_for_a_password(method: str) -> None:
    async with running(plan("x", "asks", method)) as servers:
        reply = json.loads(await said(servers))
    assert reply["error"]["code"] == -32601
    assert "result" not in reply


async def test_what_a_server_left_running_is_gone_with_it(tmp_path: Path) -> None:
    """A helper forked twice, in a session of its own."""
    where = tmp_path / "pid"
    async with running(plan("x", "daemon", str(where))) as servers:
        assert await said(servers) == "Echo: hi"
        pid = int(where.read_text())
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_server_that_ignores_signals_is_ended_all_the_same() -> None:
    began = time.monotonic()
    async with running(plan("x", "ignores_signals")) as servers:
        assert await said(servers) == "Echo: hi"
        began = time.monotonic()
    assert time.monotonic() - began < 8


async def test_resources_are_listed_and_read_through_one_tool_where_there_are_any() -> None:
    async with running(plan("x", "rich"), plan("y", "plain")) as servers:
        assert [tool.spec.name for tool in servers.tools()] == [
            "mcp__x__echo", "mcp__x__resource", "mcp__y__echo",
        ]  # fmt: skip
        tool = servers.tools()[1]

        async def read(**arguments: Any) -> Any:
            prepared = tool.prepare(arguments)
            assert [(effect.kind, effect.target) for effect in prepared.effects] == [
                ("ask", "mcp__x__resource")
            ]
            return await prepared.run(RunContext(StopToken(), lambda text: None))

        listed = (await read()).text
        found = await read(uri="test://a")
        assert listed == "test://a  one\ntest://b  one\ntest://{x}  any"
        assert found.content == (Text("[resource test://a]\ninside"), Image("image/png", "iVBORw=="))
        with pytest.raises(ToolFailure, match="no such resource"):
            await read(uri="test://none")
        with pytest.raises(ToolFailure, match="takes a uri"):
            tool.prepare({"path": "x"})


async def test_tools_that_change_are_told_and_held_until_somebody_agrees() -> None:
    """The same name with another description is another tool."""
    async with running(plan("x", "rug")) as servers:
        [before] = servers.take()
        assert before.prepare(dict(HI)).effects[0].protected == ""
        await said(servers)
        for _ in range(200):
            if servers.tools()[0].identity != before.identity:
                break
            await asyncio.sleep(0.05)
        news = servers.news()
        [after] = servers.take()
        held = after.prepare(dict(HI))
        assert news == ("the MCP server 'x': tools described otherwise than before: mcp__x__echo",)
        assert "otherwise" in held.effects[0].protected
        assert "id_rsa" in held.preview
        assert held.effects[0].runs != before.prepare(dict(HI)).effects[0].runs
        after.server.agree(after.definition)
        assert after.prepare(dict(HI)).effects[0].protected == ""
