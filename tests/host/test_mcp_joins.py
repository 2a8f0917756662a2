"""In a conversation nobody waits for servers: their tools join at a boundary, and the model is told."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from process.program import SETTINGS
from process.server import ServerThread

from wisp.host.build import open_conversation
from wisp.host.client import CommandRefused, OpenRequest
from wisp.host.commands import Prompt
from wisp.host.conversation import Conversation
from wisp.host.events import AgentCompleted, ErrorReported
from wisp.host.queries import GetMcp

SERVER = str(Path(__file__).parents[1] / "mcp_client" / "server.py")


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Conversation]]:
    """Opens a conversation with one server in a mode."""

    async def opened(server: ServerThread, *argv: str, **more: Any) -> Conversation:
        stated = {"command": [sys.executable, "-S", SERVER, *argv], "sandbox": "off", "timeout": 60, **more}
        table = "\n".join(
            ["[mcp_servers.x]", *(f"{key} = {json.dumps(value)}" for key, value in stated.items())]
        )
        (tmp_path / "home" / "config").mkdir(parents=True)
        (tmp_path / "work").mkdir()
        (tmp_path / "home" / "config" / "settings.toml").write_text(
            SETTINGS.format(api="openai-chat", url=server.base_url("openai-chat"), more=table)
        )
        monkeypatch.setenv("WISP_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("LOCAL_KEY", "k")
        return await open_conversation(
            OpenRequest(cwd=str(tmp_path / "work"), interactive=True, converses=True)
        )

    return opened


async def _said(talk: Conversation, text: str) -> None:
    events = talk.events()
    await talk.send(Prompt(text))
    async for envelope in events:
        if isinstance(envelope.event, AgentCompleted):
            break
    await events.aclose()


async def _until(talk: Conversation, status: str) -> None:
    for _ in range(1200):
        if talk.snapshot().mcp_servers[0].status == status:
            return
        await asyncio.sleep(0.05)
    raise AssertionError(talk.snapshot().mcp_servers)


def _names(request: Any) -> list[str]:
    return [tool["function"]["name"] for tool in request.json["tools"]]


async def test_a_slow_server_delays_nothing_and_its_tools_join_the_next_request(
    talk: Any, tmp_path: Path
) -> None:
    """B117: the first turn uses what is there; the notice stands in the conversation, and so in the session."""
    go = tmp_path / "go"
    with ServerThread([{"text": "one"}, {"text": "two"}, {"text": "three"}]) as server:
        found = await talk(server, "slow", str(go))
        assert any("still starting" in note for note in found.snapshot().notes)
        await _said(found, "first")
        assert found.snapshot().mcp_servers[0].status == "configured"
        go.touch()
        await _until(found, "started")
        await _said(found, "second")
        assert "mcp__x__echo" in found.snapshot().tools
        assert "x: started, 1 tools" in (await found.slash("/mcp")).text
        assert (await found.query(GetMcp())).tools == ("mcp__x__echo",)
        await _said(found, "third")
        path = found.snapshot().session_path
        await found.close()
    first, second, third = server.requests
    assert "mcp__x__echo" not in _names(first)
    assert _names(second) == [*_names(first), "mcp__x__echo"] == _names(third)
    told = "[the MCP server 'x': new tools: mcp__x__echo]"
    assert told not in json.dumps(first.json)
    assert json.dumps(second.json["messages"]).count(told) == 1
    assert json.dumps(third.json["messages"]).count(told) == 1
    assert told in Path(path).read_text().replace("\\u0027", "'")


async def test_a_servers_prompt_is_started_like_a_command_and_is_no_command_itself(talk: Any) -> None:
    """The server's words begin with a slash: they are words."""
    with ServerThread([{"text": "one"}]) as server:
        found = await talk(server, "rich")
        await _until(found, "started")
        offered = {command.name: command.arguments for command in found.commands()}
        events = found.events()
        reply = await found.slash("/mcp__x__review a.py how=well")
        async for envelope in events:
            if isinstance(envelope.event, AgentCompleted):
                break
        await events.aclose()
        with pytest.raises(CommandRefused, match="needs file"):
            await found.slash("/mcp__x__review")
        with pytest.raises(CommandRefused, match="no command /mcp__x__nothing"):
            await found.slash("/mcp__x__nothing")
        await found.close()
    assert reply.started
    assert offered["mcp__x__review"] == "file [how]"
    assert [name for name in offered if name.startswith("mcp__")] == ["mcp__x__review"]
    said = server.requests[0].json["messages"][-1]["content"]
    assert said == (
        '(the prompt \'review\' of the MCP server \'x\')\n\n/commit {"file": "a.py", "how": "well"}'
    )


async def test_a_server_that_fails_later_is_told(talk: Any) -> None:
    with ServerThread([{"text": "one"}]) as server:
        found = await talk(server, "exits", "5")
        events = found.events()
        await _until(found, "failed")
        told = [envelope.event async for envelope in _first(events, ErrorReported)]
        await found.close()
    assert "exit code 5" in told[0].message and told[0].kind == "mcp"


async def _first(events: Any, kind: type) -> Any:
    async with asyncio.timeout(60):
        async for envelope in events:
            if isinstance(envelope.event, kind):
                yield envelope
                break
    await events.aclose()
