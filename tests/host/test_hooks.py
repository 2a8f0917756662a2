"""Hooks: scripts in the documented protocol see what it promises, and what they decide is what happens."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from wisp.harness.gate import Gate
from wisp.harness.toolbox import Toolbox
from wisp.host.hooks import Hooks
from wisp.host.settings import Hook, HookGroup
from wisp.messages.content import ToolCall
from wisp.messages.ids import SystemClock
from wisp.messages.tool import ToolOutcome
from wisp.policy.decide import Policy
from wisp.policy.modes import Mode
from wisp.policy.rules import Rules, parse_rule
from wisp.tools.builtin import default_tools
from wisp.tools.ledger import ReadLedger
from wisp.workspace.root import Workspace

ENV = {"PATH": os.environ["PATH"]}


class World:
    """Real tools over a real folder, with hooks around them."""

    def __init__(
        self, folder: Path, groups: Mapping[str, tuple[HookGroup, ...]], mode: Mode = "full", deny: str = ""
    ) -> None:
        self.folder = folder
        workspace, clock, ledger = Workspace(str(folder)), SystemClock(), ReadLedger()
        self.hooks = Hooks(groups, workspace, ENV, clock, ledger)
        self.hooks.facts = lambda: {"session_id": "s1", "transcript_path": "/t", "permission_mode": mode}
        self.told: list[str] = []
        self.hooks.tell = self.told.append
        tools = default_tools(workspace, environment=ENV, clock=clock, spool_folder=None, ledger=ledger)
        rules = Rules(deny=(parse_rule(deny),)) if deny else Rules()
        policy = Policy(mode, str(folder), rules)
        self.box = Toolbox(tools, Gate(policy, None), hooks=self.hooks)

    async def call(self, tool: str, **arguments: object) -> ToolOutcome:
        """One call, from decision to outcome."""
        ready = await self.box.prepare(ToolCall("c1", tool, json.dumps(arguments)), lambda event: None)
        return ready.failure or await ready.run(lambda event: None)


def _pre(command: str, matcher: str = "", timeout: float | None = None) -> HookGroup:
    return HookGroup((Hook(command, timeout=timeout),), matcher)


def _says(verdict: str) -> str:
    answer = {"hookSpecificOutput": {"permissionDecision": verdict, "permissionDecisionReason": verdict}}
    return f"echo '{json.dumps(answer)}'"


async def test_exit_code_2_blocks_the_call_and_its_stderr_is_what_the_model_reads(tmp_path: Path) -> None:
    world = World(tmp_path, {"PreToolUse": (_pre("echo not on a friday >&2; exit 2", "edit|write"),)})
    outcome = await world.call("write", path="a.txt", content="x")
    assert outcome.code == "denied"
    assert "not on a friday" in outcome.text
    assert not (tmp_path / "a.txt").exists()
    assert not (await world.call("bash", command="true")).is_error, "the matcher names other tools"


async def test_a_script_for_the_documented_protocol_finds_every_field_it_reads(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    world = World(
        tmp_path,
        {"PreToolUse": (_pre("cat > pre.json", "Edit"),), "PostToolUse": (_pre("cat > post.json", "Edit"),)},
    )
    await world.call("read", path="a.txt")
    done = await world.call("edit", path="a.txt", edits=[{"old_text": "one", "new_text": "two"}])
    assert not done.is_error, done.text
    pre, post = (json.loads((tmp_path / name).read_text()) for name in ("pre.json", "post.json"))
    assert pre["hook_event_name"] == "PreToolUse"
    assert post["hook_event_name"] == "PostToolUse"
    for seen in (pre, post):
        assert seen["session_id"] == "s1"
        assert seen["transcript_path"] == "/t"
        assert seen["permission_mode"] == "full"
        assert seen["cwd"] == str(tmp_path)
        assert seen["tool_name"] == "Edit"
        assert seen["tool_input"]["file_path"] == str(tmp_path / "a.txt")
        assert seen["tool_input"]["old_string"] == "one"
        assert seen["tool_input"]["new_string"] == "two"
    assert "tool_response" in post


@pytest.mark.parametrize(
    ("verdicts", "runs"),
    [(["allow"], True), (["ask", "allow"], False), (["allow", "deny"], False), (["deny", "ask"], False)],
)
async def test_of_several_decisions_the_strictest_counts(
    tmp_path: Path, verdicts: list[str], runs: bool
) -> None:
    """Nobody can be asked here, so what would be asked is refused."""
    world = World(tmp_path, {"PreToolUse": tuple(_pre(_says(verdict)) for verdict in verdicts)}, "ask")
    outcome = await world.call("write", path="a.txt", content="x")
    assert (tmp_path / "a.txt").exists() is runs
    if not runs:
        assert min(verdicts, key=["deny", "ask", "allow"].index) in outcome.text


async def test_no_hook_allows_what_a_rule_or_the_mode_denies(tmp_path: Path) -> None:
    groups = {"PreToolUse": (_pre(_says("allow")),)}
    for world in (World(tmp_path, groups, deny="edit(**)"), World(tmp_path, groups, "read-only")):
        assert (await world.call("write", path="a.txt", content="x")).code == "denied"
    assert not (tmp_path / "a.txt").exists()


async def test_arguments_a_hook_changed_are_judged_and_used_instead(tmp_path: Path) -> None:
    answer = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"file_path": "b.txt"}}}
    world = World(tmp_path, {"PreToolUse": (_pre(f"echo '{json.dumps(answer)}'"),)})
    await world.call("write", path="a.txt", content="x")
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


async def test_a_file_that_a_formatter_rewrote_is_shown_and_the_next_edit_is_not_stale(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.py").write_text("x=1\n")
    world = World(tmp_path, {"PostToolUse": (_pre("sed -i 's/ *= */ = /' a.py", "edit"),)})
    await world.call("read", path="a.py")
    first = await world.call("edit", path="a.py", edits=[{"old_text": "x=1", "new_text": "x=2"}])
    assert "+x = 2" in first.text
    second = await world.call("edit", path="a.py", edits=[{"old_text": "x = 2", "new_text": "x = 3"}])
    assert not second.is_error, second.text


async def test_what_an_after_hook_objects_to_is_told_with_the_result(tmp_path: Path) -> None:
    world = World(tmp_path, {"PostToolUse": (_pre("echo line too long >&2; exit 2"),)})
    outcome = await world.call("write", path="a.txt", content="x")
    assert not outcome.is_error
    assert "line too long" in outcome.text


async def test_a_hook_that_hangs_is_ended_with_all_it_started_and_is_told(tmp_path: Path) -> None:
    hang = "setsid sleep 987 & echo $! > pid; sleep 987"
    world = World(tmp_path, {"PreToolUse": (_pre(hang, timeout=0.5),)})
    began = SystemClock().monotonic()
    assert not (await world.call("ls", path=".")).is_error
    assert SystemClock().monotonic() - began < 10
    assert "0.5 s" in world.told[0]
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_cancelling_ends_a_hook_at_once(tmp_path: Path) -> None:
    world = World(tmp_path, {"PreToolUse": (_pre("touch started; sleep 987"),)})
    task = asyncio.ensure_future(world.call("ls", path="."))
    while not (tmp_path / "started").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 10)


async def test_a_hook_that_fails_otherwise_blocks_nothing_and_is_told(tmp_path: Path) -> None:
    world = World(tmp_path, {"PreToolUse": (_pre("echo broken >&2; exit 3"),)})
    assert not (await world.call("ls", path=".")).is_error
    assert "broken" in world.told[0]


def test_an_event_whose_hooks_are_not_run_is_named_also_one_that_is_misspelt(tmp_path: Path) -> None:
    groups = {name: (_pre("true"),) for name in ("PreToolUse", "PostToolUse", "Stop", "PreTooluse")}

    assert World(tmp_path, groups).hooks.notes == [
        "hooks of Stop are not run; those of PreToolUse and PostToolUse are",
        "hooks of PreTooluse are not run; those of PreToolUse and PostToolUse are",
    ]
