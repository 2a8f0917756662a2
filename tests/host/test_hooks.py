"""Hooks: scripts in the documented protocol see what it promises, and what they decide is what happens."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from workspace.users import NOBODY, as_user

from wisp.harness.gate import Gate
from wisp.harness.toolbox import Toolbox
from wisp.host.hooking import Hooking
from wisp.host.hookrun import EVENTS, Runner, matched
from wisp.host.hooks import CallHooks
from wisp.host.tables import Hook, HookGroup
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
        self.runner = Runner(groups, workspace, ENV, clock)
        self.hooks = CallHooks(self.runner, workspace, ledger)
        self.runner.facts = lambda: {"session_id": "s1", "transcript_path": "/t", "permission_mode": mode}
        self.told: list[str] = []
        self.runner.tell = self.told.append
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
    groups = {name: (_pre("true"),) for name in (*EVENTS, "PreTooluse")}
    notes = World(tmp_path, groups).runner.notes

    assert len(notes) == 1
    assert notes[0].startswith("hooks of PreTooluse are not run; those of Notification, ")


@pytest.mark.parametrize(
    ("matcher", "tool"),
    [
        ("", "Edit"),
        ("*", "Edit"),
        ("edit", "edit"),
        ("Edit", "Edit"),
        ("Write|Edit", "Edit"),
        ("Write, Edit", "Edit"),
        ("Write | MultiEdit", "MultiEdit"),
        ("Edi", None),
        ("^Edi", "Edit"),
        ("Ed.*", "Edit"),
        (".*", "edit"),
        ("(broken", "Edit"),
        ("Notebook.*", None),
    ],
)
def test_a_matcher_is_a_list_of_whole_names_or_a_pattern_that_may_match_anywhere(
    matcher: str, tool: str | None
) -> None:
    """The documented forms: only letters, digits and separators name tools whole, else it is a pattern."""
    assert matched(matcher, ("edit", "Edit", "MultiEdit")) == tool


async def test_a_hook_that_stops_the_run_blocks_this_call_and_every_other(tmp_path: Path) -> None:
    world = World(tmp_path, {"PreToolUse": (_pre('echo \'{"continue":false,"stopReason":"enough"}\''),)})
    first = await world.call("write", path="a.txt", content="x")
    assert first.code == "denied"
    assert "enough" in first.text
    assert world.hooks.halted == "enough"


async def test_a_hook_answers_in_the_place_of_a_person(tmp_path: Path) -> None:
    """`PermissionRequest` is asked only where a person would be, and no answer leaves it to them."""

    def decides(**decision: object) -> dict[str, tuple[HookGroup, ...]]:
        answer = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
        return {"PermissionRequest": (_pre(f"cat > seen.json; echo '{json.dumps(answer)}'"),)}

    allowed = World(tmp_path, decides(behavior="allow"), "ask")
    assert not (await allowed.call("write", path="a.txt", content="x")).is_error
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["tool_name"], seen["hook_event_name"]) == ("Write", "PermissionRequest")

    changed = World(tmp_path, decides(behavior="allow", updatedInput={"file_path": "b.txt"}), "ask")
    assert not (await changed.call("write", path="c.txt", content="x")).is_error
    assert (tmp_path / "b.txt").exists()
    assert not (tmp_path / "c.txt").exists()

    denied = World(tmp_path, decides(behavior="deny", message="not today", interrupt=True), "ask")
    outcome = await denied.call("write", path="d.txt", content="x")
    assert "not today" in outcome.text
    assert denied.hooks.halted == "not today"

    silent = World(tmp_path, {"PermissionRequest": (_pre("true"),)}, "ask")
    assert (await silent.call("write", path="e.txt", content="x")).code == "denied"

    (tmp_path / "seen.json").unlink()
    free = World(tmp_path, decides(behavior="deny"), "full")
    assert not (await free.call("write", path="f.txt", content="x")).is_error
    assert not (tmp_path / "seen.json").exists(), "nobody would have been asked"


async def test_no_answer_in_a_persons_place_beats_a_rule_or_a_hook_that_wants_a_person_asked(
    tmp_path: Path,
) -> None:
    answer = {"hookSpecificOutput": {"decision": {"behavior": "allow"}}}
    allows = {"PermissionRequest": (_pre(f"echo '{json.dumps(answer)}'"),)}
    asks = {**allows, "PreToolUse": (_pre(_says("ask")),)}
    for world in (World(tmp_path, allows, "ask", "edit(**)"), World(tmp_path, asks, "full")):
        assert (await world.call("write", path="a.txt", content="x")).code == "denied"
    assert not (tmp_path / "a.txt").exists()


async def test_a_call_that_failed_is_told_to_its_own_hooks(tmp_path: Path) -> None:
    answer = {"hookSpecificOutput": {"additionalContext": "look in old/"}}
    groups = {
        "PostToolUseFailure": (_pre(f"cat > seen.json; echo '{json.dumps(answer)}'", "Bash"),),
        "PostToolUse": (_pre("touch wrong"),),
    }
    world = World(tmp_path, groups)
    outcome = await world.call("bash", command="echo why; exit 3")
    assert outcome.is_error
    assert "look in old/" in outcome.text
    assert "why" in json.loads((tmp_path / "seen.json").read_text())["error"]
    assert not (tmp_path / "wrong").exists()


async def test_what_a_hook_adds_before_a_call_stands_with_the_result(tmp_path: Path) -> None:
    answer = {"hookSpecificOutput": {"additionalContext": "the build is slow"}}
    world = World(tmp_path, {"PreToolUse": (_pre(f"echo '{json.dumps(answer)}'"),)})
    assert "the build is slow" in (await world.call("ls", path=".")).text


async def test_known_credentials_are_masked_in_what_a_hook_is_told_and_says(tmp_path: Path) -> None:
    groups = {"PreToolUse": (_pre("cat > seen.json; echo sk-secret-0123456789 >&2; exit 2"),)}
    world = World(tmp_path, groups)
    world.runner.mask = lambda text: text.replace("sk-secret-0123456789", "[secret:key]")
    outcome = await world.call("bash", command="echo sk-secret-0123456789")
    assert "sk-secret" not in (tmp_path / "seen.json").read_text()
    assert "[secret:key]" in (tmp_path / "seen.json").read_text()
    assert "sk-secret" not in outcome.text


async def test_hooks_run_side_by_side_and_one_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    """Each waits for all others to have begun: one after another they would never end."""
    meet = "touch here-{n}; while [ $(ls | grep -c here-) -lt 8 ]; do sleep 0.01; done"
    hooks = tuple(Hook(meet.format(n=n), timeout=30) for n in range(8))
    world = World(tmp_path, {"PreToolUse": (HookGroup(hooks),)})
    assert not (await world.call("ls", path=".")).is_error
    assert not world.told

    aside = World(tmp_path, {"PreToolUse": (HookGroup((Hook("sleep 987; exit 2", background=True),)),)})
    assert not (await aside.call("ls", path=".")).is_error
    await asyncio.wait_for(aside.runner.close(), 20)


async def test_a_program_with_arguments_needs_no_shell(tmp_path: Path) -> None:
    hook = Hook("/bin/sh", args=("-c", 'test "$1" = "a b; touch wrong" || exit 2', "x", "a b; touch wrong"))
    world = World(tmp_path, {"PreToolUse": (HookGroup((hook,)),)})
    assert not (await world.call("ls", path=".")).is_error
    assert not (tmp_path / "wrong").exists()


async def test_an_answer_that_is_no_json_is_told_and_blocks_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, {"PreToolUse": (_pre('echo \'{"decision": "block"\''),)})
    assert not (await world.call("ls", path=".")).is_error
    assert "no JSON object" in world.told[0]


@pytest.mark.parametrize("levels", [70, 900, 3_000, 100_000])
@pytest.mark.parametrize("field", ["x", "updatedInput"])
async def test_an_answer_that_goes_down_without_end_is_told_and_blocks_nothing(
    tmp_path: Path, field: str, levels: int
) -> None:
    """Of 64 levels, as of a model's arguments, everything can be walked; beyond that the answer is none."""
    deep = '{"a":' * levels + "1" + "}" * levels
    answer = f'{{"hookSpecificOutput": {{"permissionDecision": "deny", "{field}": {deep}}}}}'
    (tmp_path / "answer").write_text(answer)
    world = World(tmp_path, {"PreToolUse": (_pre("cat answer"),)})
    assert not (await world.call("ls", path=".")).is_error
    assert "no JSON object" in world.told[0]


async def test_a_hook_that_floods_is_ended_and_told(tmp_path: Path) -> None:
    world = World(tmp_path, {"PreToolUse": (_pre("yes", timeout=60),)})
    assert not (await world.call("ls", path=".")).is_error
    assert "more than 1 MiB" in world.told[0]


async def test_a_word_said_during_a_run_does_not_undo_that_a_hook_stopped_it(tmp_path: Path) -> None:
    world = World(tmp_path, {})
    hooking = Hooking(world.runner, Workspace(str(tmp_path)), ReadLedger(), SystemClock())
    hooking.calls.halted = "enough"
    await hooking.admit("and this", begins=False)
    assert hooking.calls.halted == "enough"
    await hooking.admit("something else")
    assert hooking.calls.halted == ""


async def test_a_message_for_the_person_is_told_to_them_alone(tmp_path: Path) -> None:
    world = World(tmp_path, {"PreToolUse": (_pre('echo \'{"systemMessage": "mind the gap"}\''),)})
    assert "mind the gap" not in (await world.call("ls", path=".")).text
    assert "mind the gap" in world.told[0]


@pytest.mark.parametrize("uid", [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()])
def test_a_hook_runs_as_the_user_and_ends_with_all_it_started(tmp_path: Path, uid: int) -> None:
    project = tmp_path / "project"
    project.mkdir()
    os.chown(project, uid, -1)
    for folder in (project, tmp_path, *list(tmp_path.parents)[:3]):
        if str(folder) != "/tmp":
            folder.chmod(0o755)

    def work() -> None:
        if not os.access(sys.executable, os.X_OK):
            sys.executable = "/usr/bin/python3"  # this interpreter lies where only root may look
        leaves = "id -u > uid; setsid sleep 985 & echo $! > pid; echo no >&2; exit 2"
        world = World(project, {"PreToolUse": (_pre(leaves),)})
        outcome = asyncio.run(world.call("ls", path="."))
        assert outcome.code == "denied", outcome

    as_user(work, uid)
    assert (project / "uid").read_text().strip() == str(uid)
    with pytest.raises(ProcessLookupError):
        os.kill(int((project / "pid").read_text()), 0)
