"""`wisp rpc`, driven by its own client and by hand: one answer a request, events before it, nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from process.program import Bug, Program
from process.server import ServerThread

from wisp.frontends.rpc.client import RpcClient, RpcFailed
from wisp.frontends.rpc.methods import PROTOCOL, names
from wisp.host import queries as ask
from wisp.host.client import CommandRefused
from wisp.host.commands import (
    Answer,
    Approve,
    Cancel,
    Configure,
    FollowUp,
    Name,
    Navigate,
    NewSession,
    Prompt,
    SelectSession,
)
from wisp.host.events import AgentCompleted, MessageDelta, QueueMessageInjected, ToolApprovalRequested

pytestmark = pytest.mark.process

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocol": 1, "client": {"name": "t"}},
}


@asynccontextmanager
async def connected(program: Program, *options: str, **more: Any) -> AsyncIterator[RpcClient]:
    argv = [*program.argv, "rpc", *options]
    async with await RpcClient.start(argv, cwd=str(program.project), env=program.env, **more) as client:
        yield client


def say(program: Program, *messages: Any, code: int = 0) -> list[dict[str, Any]]:
    """Everything that is answered until the other side has closed."""
    text = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
    done = program.run("rpc", stdin=text)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(number: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def answers(frames: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    found = [frame for frame in frames if "id" in frame]
    assert len({json.dumps(frame["id"]) for frame in found}) == len(found), "a request was answered twice"
    return {frame["id"]: frame for frame in found}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path / "home", tmp_path / "project")


async def test_a_repair_with_its_approvals_crosses_the_pipe(tmp_path: Path) -> None:
    bug = Bug(7)
    with ServerThread(bug.steps()) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        bug.plant(program.project)
        async with connected(program) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("Fix it."))
            asked = []
            async for envelope in events:
                if isinstance(event := envelope.event, ToolApprovalRequested):
                    asked.append(event.name)
                    await client.send(Approve(event.call_id, event.digest, approved=True))
                if isinstance(envelope.event, AgentCompleted):
                    break
            run = await running
            page = await client.query(ask.GetMessages())

    assert run.stop_reason == "model_finished"
    assert asked == ["bash", "edit", "bash"]
    assert bug.fixed(program.project)
    assert page.messages[0].text == "Fix it."
    assert page.total == len(page.messages)


async def test_an_answer_to_something_else_is_an_error_and_what_waits_goes_on_waiting(tmp_path: Path) -> None:
    steps = [
        {"text": "x", "calls": [{"name": "bash", "arguments": {"command": "touch ran"}}]},
        {"text": "done"},
    ]
    refused = []
    with ServerThread(steps) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        async with connected(program) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("go"))
            async for envelope in events:
                if isinstance(event := envelope.event, ToolApprovalRequested):
                    right = Approve(event.call_id, event.digest, approved=True)
                    for wrong in (
                        Approve(event.call_id, event.digest[::-1], approved=True),
                        Approve(event.call_id, "", approved=False),
                        Approve("other", event.digest, approved=True),
                        Answer(event.call_id, "yes"),
                        right,
                        right,
                    ):
                        try:
                            await client.send(wrong)
                        except CommandRefused as exc:
                            refused.append(str(exc).split(" ")[0])
                        if wrong is not right:
                            assert not (program.project / "ran").exists()
                if isinstance(envelope.event, AgentCompleted):
                    break
            run = await running
    assert refused == ["that", "that", "no", "no", "no"], "and only the first of the two right ones is taken"
    assert run.stop_reason == "model_finished"
    assert (program.project / "ran").exists()


async def test_a_second_prompt_is_refused_and_the_first_answered_once_after_retries(tmp_path: Path) -> None:
    with ServerThread([{"text": "at last", "fault": {"status": 429, "times": 2}}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        async with connected(program) as client:
            running = asyncio.ensure_future(client.run("go"))
            while client.view.phase != "retrying":
                await asyncio.sleep(0.01)
            with pytest.raises(CommandRefused, match="in progress"):
                await client.send(Prompt("again"))
            assert not running.done()
            run = await running

    assert run.answer == "at last"
    assert client.view.phase == "idle"


async def test_state_queue_and_cancel_are_served_during_a_run(tmp_path: Path) -> None:
    with ServerThread([{"text": "y" * 20_000, "pause": 0.05}, {"text": "later"}, {"text": "last"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        async with connected(program) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("go"))
            async for envelope in events:
                if isinstance(envelope.event, MessageDelta):
                    break
            assert (await client.query(ask.GetState())).running
            await client.send(FollowUp("and then"))
            assert [m.text for m in (await client.query(ask.GetQueue())).follow_up] == ["and then"]
            await client.send(Cancel())
            run = await running
            assert run.stop_reason == "cancelled"
            run = await client.run("go on")

    assert run.stop_reason == "model_finished"
    assert any(isinstance(e.event, QueueMessageInjected) for e in [*(await drained(events))])


async def drained(events: Any) -> list[Any]:
    return [envelope async for envelope in events]


async def test_sessions_are_begun_named_listed_and_gone_back_to(tmp_path: Path) -> None:
    with ServerThread([{"text": "one"}, {"text": "two"}, {"text": "three"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        async with connected(program) as client:
            await client.run("first")
            first = client.snapshot().session_id
            await client.send(Name("the first"))
            await client.send(NewSession())
            assert client.snapshot().session_id != first
            await client.run("second")
            listed = await client.query(ask.ListSessions())
            found = await client.query(ask.ListSessions(text="first"))
            await client.send(SelectSession(first))
            assert client.snapshot().session_id == first
            run = await client.run("third")
            tree = await client.query(ask.GetTree())

    assert {info.name for info in listed} == {"the first", ""}
    assert [info.id for info in found] == [first]
    assert run.answer == "three"
    assert [entry.text for entry in tree.entries] == ["first", "one", "third", "three"]


async def test_files_are_put_back_and_forward_again(tmp_path: Path) -> None:
    write = {"calls": [{"name": "write", "arguments": {"path": "n.txt", "content": "n\n"}}]}
    with ServerThread([write, {"text": "done"}]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        async with connected(program, "--permission-mode", "full") as client:
            await client.run("go")
            shown = await client.query(ask.FileChanges())
            assert (program.project / "n.txt").exists()
            undone = await client.query(ask.UndoFiles())
            assert not (program.project / "n.txt").exists()
            redone = await client.query(ask.RedoFiles())

    assert (program.project / "n.txt").read_text() == "n\n"
    assert [(c.what, c.path) for c in undone.changes] == [(c.what, c.path) for c in shown.changes]
    assert (shown.applied, undone.applied, redone.applied) == (False, True, True)


async def test_configure_changes_mode_and_model(program: Program) -> None:
    async with connected(program) as client:
        await client.send(Configure(permission_mode="auto"))
        assert client.snapshot().permission_mode == "auto"
        with pytest.raises(CommandRefused, match="no-such"):
            await client.send(Configure(model="no-such/model"))
        assert client.snapshot().model == "test-model"
        permissions = await client.query(ask.GetPermissions())

    assert permissions.mode == "auto"


async def test_messages_are_paged_backwards_without_gap_or_overlap(tmp_path: Path) -> None:
    with ServerThread([{"text": f"a{n}"} for n in range(7)]) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        async with connected(program) as client:
            for n in range(7):
                await client.run(f"q{n}")
            pages, before = [], ""
            while True:
                page = await client.query(ask.GetMessages(before, 4))
                pages.append([message.text for message in page.messages])
                before = page.before
                if not before:
                    break

    assert [text for page in reversed(pages) for text in page] == [f"{c}{n}" for n in range(7) for c in "qa"]
    assert [len(page) for page in pages] == [4, 4, 4, 2]


async def test_a_stored_key_never_comes_back(program: Program) -> None:
    async with connected(program) as client:
        said = await client.query(ask.StoreKey("openai", "sk-secret-1"))
        everything = [
            await client.query(ask.GetState()),
            await client.query(ask.GetModels(all=True)),
            await client.query(ask.GetPermissions()),
        ]
        await client.query(ask.Disconnect("openai"))

    assert "sk-secret-1" not in repr([said, *everything])


# -- by hand ----------------------------------------------------------------------------------------------


def test_without_a_handshake_nothing_is_done(program: Program) -> None:
    found = answers(say(program, call(5, "get_state"), call("six", "prompt", text="go")))

    assert {given: frame["error"]["code"] for given, frame in found.items()} == {5: -32002, "six": -32002}


def test_what_is_no_request_is_answered_with_the_codes_of_json_rpc(program: Program) -> None:
    frames = say(
        program,
        HELLO,
        "no json",
        "[" * 100_000,
        "\xff",
        "[]",
        '{"jsonrpc": "1.0", "id": 2, "method": "get_state"}',
        call(3, "no_such_method"),
        call(4, "approve", call_id=7),
        call(5, "get_state", unknown="field"),
        {"jsonrpc": "2.0", "method": "get_state"},
    )
    codes = [(frame.get("id"), frame.get("error", {}).get("code")) for frame in frames[1:] if "id" in frame]

    assert codes == [
        (None, -32700),
        (None, -32700),
        (None, -32700),
        (None, -32600),
        (2, -32600),
        (3, -32601),
        (4, -32602),
        (5, None),
    ]


def test_an_unterminated_last_line_is_no_request(program: Program) -> None:
    done = program.run("rpc", stdin=json.dumps(HELLO) + "\n" + json.dumps(call(2, "get_state")))

    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1]


def test_a_line_beyond_the_limit_is_refused_and_the_next_one_read(program: Program) -> None:
    frames = say(program, call(9, "initialize", junk="j" * 70_000), HELLO)

    assert frames[0]["error"]["code"] == -32600
    assert frames[1]["id"] == 1
    assert "result" in frames[1]


def test_the_answer_to_shutdown_is_the_last_frame(program: Program) -> None:
    frames = say(program, HELLO, call(2, "shutdown"), call(3, "get_state"))

    assert frames[-1] == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_host_that_cannot_be_opened_says_why_and_with_which_exit_code(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "project", api="")
    (program.home / "config" / "settings.toml").write_text('model = "nowhere/model"\n')
    frames = say(program, HELLO, code=3)

    assert frames[0]["error"]["code"] == -32003
    assert "nowhere" in frames[0]["error"]["message"]
    assert frames[0]["error"]["data"] == {"exit_code": 3}


def test_a_newer_client_is_met_at_the_protocol_that_both_know(program: Program) -> None:
    hello = {**HELLO, "params": {**HELLO["params"], "protocol": PROTOCOL + 5, "from_the_future": [1]}}
    result = say(program, hello)[0]["result"]

    assert result["protocol"] == PROTOCOL
    assert tuple(result["methods"]) == names()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_a_run_settles_it_and_answers_the_prompt(tmp_path: Path, number: int) -> None:
    with ServerThread([{"text": "y" * 20_000, "pause": 0.05}]) as server, ExitStack() as stack:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        process = stack.enter_context(program.start("rpc", stdin=subprocess.PIPE))
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO) + "\n" + json.dumps(call(2, "prompt", text="go")) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if '"message.delta"' in line:
                break
        process.send_signal(number)
        frames = [json.loads(line) for line in process.stdout]
        code = process.wait(30)

    assert code == 128 + number
    assert frames[-1]["id"] == 2
    assert frames[-1]["result"]["run"]["stop_reason"] == "cancelled"
    assert frames[-2]["params"]["type"] == "agent.completed"


def test_a_client_that_reads_no_more_ends_the_process_quietly(tmp_path: Path) -> None:
    with ServerThread([{"text": "y" * 200_000, "pause": 0.02}]) as server, ExitStack() as stack:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        process = stack.enter_context(program.start("rpc", stdin=subprocess.PIPE))
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO) + "\n" + json.dumps(call(2, "prompt", text="go")) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.parametrize("kind", ["file", "socket", "terminal"])
def test_any_kind_of_descriptor_will_do(program: Program, tmp_path: Path, kind: str) -> None:
    text = (json.dumps(HELLO) + "\n" + json.dumps(call(2, "shutdown")) + "\n").encode()
    ours: int | None = None
    if kind == "file":
        (tmp_path / "in").write_bytes(text)
        theirs = os.open(tmp_path / "in", os.O_RDONLY)
        out = os.open(tmp_path / "out", os.O_RDWR | os.O_CREAT, 0o600)
    elif kind == "socket":
        left, right = socket.socketpair()
        right.setblocking(False)
        ours, theirs = left.detach(), right.detach()
        out = os.dup(theirs)
    else:
        ours, theirs = pty.openpty()
        out = os.dup(theirs)
    if ours is not None:
        os.write(ours, text)
    with program.start("rpc", stdin=theirs, stdout=out, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        assert process.wait(60) == 0
    if ours is None:
        os.lseek(out, 0, os.SEEK_SET)
        seen = os.read(out, 1 << 20)
    else:
        seen = os.read(ours, 1 << 16)
        os.close(ours)
    os.close(out)

    assert b'"id":1' in seen


async def test_a_program_that_is_gone_fails_what_is_asked_of_it(program: Program) -> None:
    client = await RpcClient.start([*program.argv, "rpc"], cwd=str(program.project), env=program.env)
    client._process.kill()
    with pytest.raises(RpcFailed, match="gone"):
        await client.query(ask.GetState())
        await client.query(ask.GetState())
    await client.close()


async def test_a_move_that_waits_for_a_summary_keeps_others_off_and_can_be_cancelled(tmp_path: Path) -> None:
    script = [{"text": "one"}, {"text": "two"}, {"text": "s" * 20_000, "pause": 0.05}, {"text": "three"}]
    with ServerThread(script) as server:
        program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"))
        async with connected(program) as client:
            await client.run("first")
            await client.run("second")
            moving = asyncio.ensure_future(client.send(Navigate("2", summarise=True)))
            while len(server.requests) < 3:
                await asyncio.sleep(0.01)
            with pytest.raises(CommandRefused, match="in progress"):
                await client.send(NewSession())
            await client.send(Cancel())
            with pytest.raises(CommandRefused, match="cancelled"):
                await moving
            run = await client.run("third")
            texts = [message.text for message in (await client.query(ask.GetMessages())).messages]

    assert run.answer == "three"
    assert texts == ["first", "one", "second", "two", "third", "three"]


async def test_the_servers_and_how_they_stand_are_told(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "project")
    with (program.home / "config" / "settings.toml").open("a") as file:
        file.write('\n[mcp_servers.broken]\ncommand = ["/nonexistent/server"]\n')
    async with connected(program) as client:
        while (servers := (await client.query(ask.GetMcp())).servers)[0].status != "failed":
            await asyncio.sleep(0.05)

    assert [server.name for server in servers] == ["broken"]
    assert "/nonexistent/server" in servers[0].error
