"""Hooks of the documented protocol in the real program, from the start of a conversation to its end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from process.program import Program, result_of
from process.server import ServerThread

from wisp.frontends.rpc.client import RpcClient
from wisp.host.client import CommandRefused
from wisp.host.commands import Approve, Compact, Steer
from wisp.host.events import AgentCompleted, Envelope, ErrorReported, ToolApprovalRequested
from wisp.testing.requests import Request
from wisp.testing.steps import Call, Step

pytestmark = pytest.mark.process

SCRIPT = """\
import json, sys
seen = json.load(sys.stdin)
with open(f"seen-{seen['hook_event_name']}.jsonl", "a") as file:
    file.write(json.dumps(seen) + "\\n")
"""
"""A hook as people write them: reads its input, keeps a note, goes on."""


def table(event: str, command: str, matcher: str = "", **more: object) -> str:
    """One hook of the settings file."""
    rows = [f"[[hooks.{event}]]", f"matcher = {json.dumps(matcher)}", f"[[hooks.{event}.hooks]]"]
    rows += ['type = "command"', f"command = {json.dumps(command)}"]
    rows += [f"{name} = {json.dumps(value)}" for name, value in more.items()]
    return "\n".join(rows) + "\n"


def says(**answer: object) -> str:
    """A hook that answers with this."""
    return f"cat >/dev/null; echo {json.dumps(json.dumps(answer))}".replace("$", "\\$")


class World:
    """A project whose hooks note what they were told."""

    def __init__(self, folder: Path, server: ServerThread, *tables: str) -> None:
        self.program = Program(
            folder / "home", folder / "project", url=server.base_url("openai-chat"), more="".join(tables)
        )
        self.project = self.program.project
        (folder / "note.py").write_text(SCRIPT)

    def seen(self, event: str) -> list[dict[str, Any]]:
        """What the hooks of an event were told."""
        path = self.project / f"seen-{event}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def noting(folder: Path, *events: str) -> str:
    """Hooks that note what they are told, for these events."""
    return "".join(table(event, f"{sys.executable} {folder / 'note.py'}") for event in events)


def answers(*steps: Step) -> Callable[[Request], Step]:
    left = list(steps)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def body(request: Request) -> str:
    return request.body.decode()


def test_every_event_of_a_run_is_told_with_the_documented_fields(tmp_path: Path) -> None:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    steps = answers(Step(calls=(Call("bash", {"command": "echo hi"}),)), Step(text="all done"))
    with ServerThread(steps) as server:
        world = World(tmp_path, server, noting(tmp_path, *events))
        result = result_of(
            world.program.run("-p", "go on", "--output-format", "json", "--permission-mode", "full")
        )
    assert result["subtype"] == "success"
    told = {event: world.seen(event) for event in events}
    assert {event: len(seen) for event, seen in told.items()} == dict.fromkeys(events, 1)
    for event, (seen,) in told.items():
        assert seen["hook_event_name"] == event
        assert seen["session_id"] == result["session_id"]
        assert seen["cwd"] == str(world.project)
        assert Path(seen["transcript_path"]).suffix == ".jsonl"
        assert seen["permission_mode"] == "bypassPermissions"
    assert told["SessionStart"][0]["source"] == "startup"
    assert told["SessionStart"][0]["model"] == "test-model"
    assert told["UserPromptSubmit"][0]["prompt"] == "go on"
    assert told["PreToolUse"][0]["tool_input"]["command"] == "echo hi"
    assert told["PostToolUse"][0]["tool_response"]["stdout"].startswith("hi")
    assert told["Stop"][0]["stop_hook_active"] is False
    assert told["Stop"][0]["last_assistant_message"] == "all done"
    assert told["SessionEnd"][0]["reason"] == "other"


def test_what_hooks_add_at_the_start_and_to_a_prompt_reaches_the_model(tmp_path: Path) -> None:
    """Plain output and `additionalContext` alike, and only the hooks whose matcher names the source."""
    context = {"hookEventName": "UserPromptSubmit", "additionalContext": "TICKET-77 is open"}
    tables = (
        table("SessionStart", "echo BRANCH-is-main", "startup"),
        table("SessionStart", "echo NOT-THIS", "resume"),
        table("UserPromptSubmit", says(hookSpecificOutput=context), "ignored-here"),
    )
    with ServerThread(answers(Step(text="ok"))) as server:
        world = World(tmp_path, server, *tables)
        assert world.program.run("-p", "hello").returncode == 0
        assert world.program.run("-p", "again", "--continue").returncode == 0
        first, second = (body(request) for request in server.requests)
    assert "BRANCH-is-main" in first
    assert "TICKET-77 is open" in first
    assert "NOT-THIS" not in first
    assert "NOT-THIS" in second


@pytest.mark.parametrize(
    "command",
    [
        "echo no secrets please >&2; exit 2",
        says(decision="block", reason="no secrets please"),
        says(**{"continue": False, "stopReason": "no secrets please"}),
    ],
)
def test_a_blocked_prompt_reaches_neither_model_nor_disk_and_the_person_is_told(
    tmp_path: Path, command: str
) -> None:
    with ServerThread(answers(Step(text="ok"))) as server:
        world = World(tmp_path, server, table("UserPromptSubmit", command))
        done = world.program.run("-p", "my SECRET-WORD", "--output-format", "json")
        assert not server.requests
    result = result_of(done)
    assert (result["subtype"], result["stop_reason"]) == ("refused", "refused")
    assert done.returncode == 1
    assert "no secrets please" in done.stderr + done.stdout
    assert not any("SECRET-WORD" in path.read_text() for path in world.program.sessions())


def test_a_stop_hook_sends_the_model_on_and_knows_that_it_did(tmp_path: Path) -> None:
    """A script as documented: it looks at `stop_hook_active`, and blocks once."""
    script = (
        "import json, sys\n"
        "seen = json.load(sys.stdin)\n"
        "if not seen['stop_hook_active']:\n"
        "    print('run the tests first', file=sys.stderr); sys.exit(2)\n"
    )
    (tmp_path / "stop.py").write_text(script)
    with ServerThread(answers(Step(text="first"), Step(text="second"))) as server:
        world = World(tmp_path, server, table("Stop", f"{sys.executable} {tmp_path / 'stop.py'}"))
        done = world.program.run("-p", "go")
        requests = [body(request) for request in server.requests]
    assert done.stdout.strip().endswith("second")
    assert len(requests) == 2
    assert "run the tests first" in requests[1]


def test_a_stop_hook_that_never_lets_go_is_let_go_of(tmp_path: Path) -> None:
    with ServerThread(answers(Step(text="done"))) as server:
        world = World(tmp_path, server, table("Stop", says(decision="block", reason="MORE")))
        done = world.program.run("-p", "go")
        requests = len(server.requests)
    assert done.returncode == 0
    assert requests == 9, "the first answer, and eight times on"
    assert "8 times in a row" in done.stderr


def test_continue_false_ends_the_run_after_the_call_and_says_why(tmp_path: Path) -> None:
    steps = answers(Step(calls=(Call("bash", {"command": "touch a"}), Call("bash", {"command": "touch b"}))))
    hook = table("PostToolUse", says(**{"continue": False, "stopReason": "quota of the day"}))
    with ServerThread(steps) as server:
        world = World(tmp_path, server, hook)
        done = world.program.run("-p", "go", "--output-format", "json", "--permission-mode", "full")
        requests = len(server.requests)
    assert requests == 1
    assert result_of(done)["stop_reason"] == "refused"
    assert "quota of the day" in done.stderr + done.stdout


def test_the_hooks_of_a_place_are_listed_with_where_they_come_from(tmp_path: Path) -> None:
    with ServerThread([]) as server:
        world = World(tmp_path, server, table("Stop", "mine"))
        (world.project / ".wisp").mkdir()
        (world.project / ".wisp" / "settings.toml").write_text(table("PreToolUse", "./theirs.sh", "Bash"))
        before = world.program.run("hooks", "list").stdout
        assert world.program.run("trust", "allow").returncode == 0
        rows = json.loads(world.program.run("hooks", "list", "--json").stdout)["hooks"]
    assert "theirs" not in before
    assert [(row["event"], row["matcher"], row["command"]) for row in rows] == [
        ("PreToolUse", "Bash", "./theirs.sh"),
        ("Stop", "", "mine"),
    ]
    assert [row["source"] for row in rows] == ["the project, as approved", "your settings"]


def test_ten_hooks_of_other_events_start_nothing_before_the_first_request(tmp_path: Path) -> None:
    """Counted, not timed: each would leave a file."""
    tables = [
        table(event, f"touch {event}-{n}")
        for n in range(2)
        for event in ("PreToolUse", "PostToolUse", "PreCompact", "SubagentStop", "PermissionRequest")
    ]
    seen: list[list[str]] = []

    def answer(request: Request) -> Step:
        seen.append(sorted(path.name for path in world.project.iterdir()))
        if request.last_result:
            return Step(text="ok")
        return Step(calls=(Call("bash", {"command": "true"}),))

    with ServerThread(answer) as server:
        world = World(tmp_path, server, *tables)
        world.program.run("-p", "go", "--permission-mode", "full")
    assert seen[0] == []
    assert seen[1] == ["PostToolUse-0", "PostToolUse-1", "PreToolUse-0", "PreToolUse-1"]


def test_a_subagent_has_hooks_of_its_own_start_and_stop(tmp_path: Path) -> None:
    def answer(request: Request) -> Step:
        if b"You are a subagent" in request.body:
            return Step(text="SECOND-REPORT" if b"look again" in request.body else "FIRST-REPORT")
        if request.last_result:
            return Step(text=f"heard {request.last_result}")
        return Step(calls=(Call("task", {"description": "part", "prompt": "look"}),))

    context = {"hookEventName": "SubagentStart", "additionalContext": "STYLE-GUIDE"}
    once = "[ -e stopped ] && exit 0; touch stopped; echo look again >&2; exit 2"
    tables = (
        noting(tmp_path, "SubagentStop", "SubagentStart", "Stop"),
        table("SubagentStart", says(hookSpecificOutput=context)),
        table("SubagentStop", once),
    )
    with ServerThread(answer) as server:
        world = World(tmp_path, server, *tables)
        done = world.program.run("-p", "go")
        children = [body(r) for r in server.requests if b"You are a subagent" in r.body]
    assert "heard SECOND-REPORT" in done.stdout
    assert "STYLE-GUIDE" in children[0]
    first, second = world.seen("SubagentStop")
    assert (first["stop_hook_active"], second["stop_hook_active"]) == (False, True)
    assert first["last_assistant_message"] == "FIRST-REPORT"
    assert first["agent_type"] == world.seen("SubagentStart")[0]["agent_type"] == "explore"
    assert first["agent_id"]
    assert len(world.seen("Stop")) == 1, "of the conversation alone"


def test_hooks_that_misbehave_at_every_event_hold_nothing_up(tmp_path: Path) -> None:
    """Hang, flood, fork, answer nonsense, vanish: each is ended at its limit, told, and the run goes on."""
    bad = (
        "setsid sleep 986 & sleep 986",
        "yes",
        "for i in 1 2 3 4 5 6 7 8; do sleep 986 & done; wait",
        "echo '{\"decision\":'",
        "/no/such/program",
        "kill -9 $$",
    )
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    tables = [table(event, command, timeout=1) for event in events for command in bad]
    steps = answers(Step(calls=(Call("bash", {"command": "echo hi"}),)), Step(text="all done"))
    with ServerThread(steps) as server:
        world = World(tmp_path, server, *tables)
        done = world.program.run("-p", "go", "--permission-mode", "full", timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "all done"
    assert "PreToolUse hook 'yes' was ended" in done.stderr
    assert not left_running("986")


def left_running(word: str) -> list[str]:
    """Commands of running processes that name `word`."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", word.encode()]:
            found.append(pid)
    return found


async def connected(world: World, *options: str) -> RpcClient:
    argv = [*world.program.argv, "rpc", *options]
    return await RpcClient.start(argv, cwd=str(world.project), env=world.program.env)


async def test_hooks_hear_of_a_compaction_and_may_forbid_it(tmp_path: Path) -> None:
    events = ("PreCompact", "PostCompact", "SessionStart")
    forbids = table("PreCompact", "[ -e forbidden ] && { echo keep it whole >&2; exit 2; } || exit 0")
    long = Step(text="a long answer " * 12_000)
    steps = answers(long, long, long, Step(text="in short"))
    with ServerThread(steps) as server:
        world = World(tmp_path, server, noting(tmp_path, *events), forbids)
        async with await connected(world) as client:
            for prompt in ("one", "two", "three"):
                await client.run(prompt)
            await client.send(Compact("keep the numbers"))
            await client.run("four")
            assert len(world.seen("PostCompact")) == 1
            (world.project / "forbidden").touch()
            told = client.events()
            await client.send(Compact(""))
            await client.run("five")
            errors = [e.event async for e in until_completed(told) if isinstance(e.event, ErrorReported)]
    first, second = world.seen("PreCompact")
    assert (first["trigger"], first["custom_instructions"]) == ("manual", "keep the numbers")
    assert second["custom_instructions"] == ""
    assert world.seen("PostCompact")[0]["compact_summary"]
    assert [seen["source"] for seen in world.seen("SessionStart")] == ["startup", "compact"]
    assert any("keep it whole" in error.message for error in errors)


async def until_completed(events: AsyncGenerator[Envelope, None]) -> AsyncGenerator[Envelope, None]:
    async for envelope in events:
        yield envelope
        if isinstance(envelope.event, AgentCompleted):
            return


async def test_a_person_who_is_asked_is_notified_and_another_conversation_begins_anew(tmp_path: Path) -> None:
    steps = answers(Step(calls=(Call("bash", {"command": "touch made"}),)), Step(text="ok"))
    with ServerThread(steps) as server:
        world = World(tmp_path, server, noting(tmp_path, "Notification", "SessionStart", "SessionEnd"))
        async with await connected(world) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("go"))
            async for envelope in until_completed(events):
                if isinstance(event := envelope.event, ToolApprovalRequested):
                    while not world.seen("Notification"):
                        await asyncio.sleep(0.02)
                    await client.send(Approve(event.call_id, event.digest, approved=True))
            await running
            await client.slash("/effort high")
            await client.slash("/effort -")
            await client.slash("/new")
            await client.run("again")
    [notice] = world.seen("Notification")
    assert notice["notification_type"] == "permission_prompt"
    assert "touch made" in notice["message"]
    assert [seen["source"] for seen in world.seen("SessionStart")] == ["startup", "clear"]
    assert [seen["reason"] for seen in world.seen("SessionEnd")] == ["clear", "prompt_input_exit"]


async def test_what_is_said_during_a_run_passes_the_same_hooks(tmp_path: Path) -> None:
    blocks = table("UserPromptSubmit", "grep -q FORBIDDEN && { echo not that word >&2; exit 2; } || exit 0")
    steps = answers(Step(calls=(Call("bash", {"command": "touch made"}),)), Step(text="ok"))
    with ServerThread(steps) as server:
        world = World(tmp_path, server, blocks)
        async with await connected(world) as client:
            running = asyncio.ensure_future(client.run("go"))
            async for envelope in until_completed(client.events()):
                if isinstance(event := envelope.event, ToolApprovalRequested):
                    with pytest.raises(CommandRefused, match="not that word"):
                        await client.send(Steer("FORBIDDEN fruit"))
                    await client.send(Approve(event.call_id, event.digest, approved=True))
            await running
        assert not any(b"FORBIDDEN" in request.body for request in server.requests)
