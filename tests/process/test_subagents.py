"""Subagents in the real program: a report for the parent, from its budget, within its rights, whatever happens."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from process.program import Program, result_of
from process.server import ServerThread

from wisp.frontends.rpc.client import RpcClient
from wisp.host.commands import Approve, Cancel
from wisp.host.events import AgentCompleted, SubagentReported, ToolApprovalRequested, ToolApprovalResolved
from wisp.testing.requests import Request
from wisp.testing.steps import Call, Fault, Step

pytestmark = pytest.mark.process

USAGE = {"input": 100, "output": 10}


def says(request: Request, text: str) -> bool:
    return text.encode() in request.body


def task(*prompts: str, agent: str = "") -> Step:
    more = {"agent": agent} if agent else {}
    calls = tuple(
        Call("task", {"description": f"part {n}", "prompt": prompt, **more})
        for n, prompt in enumerate(prompts)
    )
    return Step(text="delegating", calls=calls, usage=USAGE)


def script(child: Callable[[Request], Step], first: Step | None = None) -> Callable[[Request], Step]:
    """The parent delegates once and ends; `child` answers for subagents."""

    def answer(request: Request) -> Step:
        if says(request, "You are a subagent"):
            return child(request)
        if request.last_result:
            return Step(text=f"parent heard: {request.last_result}", usage=USAGE)
        return first or task("Look at a.txt")

    return answer


def reads_then_reports(request: Request) -> Step:
    if request.last_result:
        return Step(text="report: it says XYZZY", usage=USAGE)
    return Step(text="looking", calls=(Call("read", {"path": "a.txt"}),), usage=USAGE)


def started(tmp_path: Path, server: ServerThread, more: str = "") -> Program:
    program = Program(tmp_path / "home", tmp_path / "project", url=server.base_url("openai-chat"), more=more)
    (program.project / "a.txt").write_text("XYZZY\n")
    return program


def agent_file(program: Program, name: str, head: str, body: str = "Do it.") -> None:
    folder = program.home / "config" / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: does {name}\n{head}---\n{body}\n")


PRICED = "input_price = 1000000.0\noutput_price = 0.0\n"
"""One dollar a prompt token."""


def test_the_report_reaches_the_parent_and_its_spending_is_the_runs(tmp_path: Path) -> None:
    with ServerThread(script(reads_then_reports)) as server:
        program = started(tmp_path, server, PRICED)
        result = result_of(program.run("-p", "go", "--output-format", "json"))
        requests = len(server.requests)

    assert result["result"] == "parent heard: report: it says XYZZY"
    assert requests == 4
    assert result["usage"]["input_tokens"] == 400
    assert result["total_cost_usd"] == pytest.approx(400.0)
    assert result["num_turns"] == 2


def test_a_subagent_begins_without_the_parents_conversation(tmp_path: Path) -> None:
    with ServerThread(script(reads_then_reports)) as server:
        started(tmp_path, server).run("-p", "SECRET-TALK")
        children = [request for request in server.requests if says(request, "You are a subagent")]

    assert len(children) == 2
    assert not any(says(request, "SECRET-TALK") for request in children)


async def test_several_run_at_once(tmp_path: Path) -> None:
    with ServerThread(script(reads_then_reports, task("do alpha", "do beta", "do gamma"))) as server:
        program = started(tmp_path, server)
        async with await connected(program) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("go"))
            states = []
            async for envelope in events:
                if isinstance(event := envelope.event, SubagentReported) and event.state != "working":
                    states.append(event.state)
                if isinstance(envelope.event, AgentCompleted):
                    break
            await running

    assert states == ["begun"] * 3 + ["ended"] * 3


def test_the_runs_limit_of_turns_counts_subagents_too(tmp_path: Path) -> None:
    def child(request: Request) -> Step:
        return Step(text="again", calls=(Call("read", {"path": "a.txt", "offset": len(request.body)}),))

    with ServerThread(script(child)) as server:
        program = started(tmp_path, server)
        done = program.run("-p", "go", "--output-format", "json", "--max-turns", "4")
        requests = len(server.requests)

    assert requests == 4
    assert done.returncode == 5
    assert result_of(done)["subtype"] == "error_max_turns"


def test_what_a_failing_subagent_found_out_reaches_the_parent(tmp_path: Path) -> None:
    def child(request: Request) -> Step:
        if request.last_result:
            return Step(fault=Fault(status=400, body="no more", times=99))
        return Step(text="FOUND-IT at line 7", calls=(Call("read", {"path": "a.txt"}),))

    with ServerThread(script(child)) as server:
        result = result_of(started(tmp_path, server).run("-p", "go", "--output-format", "json"))

    assert result["subtype"] == "success"
    assert "subagent_stopped" in result["result"]
    assert "FOUND-IT at line 7" in result["result"]


@pytest.mark.parametrize("mode", ["full", "ask"])
def test_a_subagent_that_reads_changes_nothing_in_any_mode(tmp_path: Path, mode: str) -> None:
    def child(request: Request) -> Step:
        if request.last_result:
            return Step(text=f"report: {request.last_result}")
        return Step(calls=(Call("bash", {"command": "echo x > b.txt"}),))

    with ServerThread(script(child)) as server:
        program = started(tmp_path, server)
        result = result_of(program.run("-p", "go", "--output-format", "json", "--permission-mode", mode))
        offered = json.loads(next(r for r in server.requests if says(r, "You are a subagent")).body)["tools"]

    assert "read-only mode allows no effects" in result["result"]
    assert not (program.project / "b.txt").exists()
    assert not {"write", "edit"} & {tool["function"]["name"] for tool in offered}


def test_the_parents_denials_bind_it(tmp_path: Path) -> None:
    def child(request: Request) -> Step:
        return (
            Step(text=f"report: {request.last_result}")
            if request.last_result
            else Step(calls=(Call("read", {"path": "a.txt"}),))
        )

    with ServerThread(script(child)) as server:
        result = result_of(
            started(tmp_path, server).run("-p", "go", "--output-format", "json", "--deny", "read(a.txt)")
        )

    assert "XYZZY" not in result["result"]
    assert "denied" in result["result"]


def test_definitions_of_a_project_are_read_only_where_it_is_trusted(tmp_path: Path) -> None:
    with ServerThread(script(reads_then_reports), lenient=True) as server:
        program = started(tmp_path, server)
        folder = program.project / ".claude" / "agents"
        folder.mkdir(parents=True)
        text = "---\nname: auditor\ndescription: audits\ntools: Read, Grep\n---\nAUDIT-RULES\n"
        (folder / "auditor.md").write_text(text)
        program.run("-p", "go")
        untrusted = server.requests[0].body
        program.run("-p", "go", "--trust")
        trusted = next(r.body for r in server.requests if b"auditor" in r.body)

    assert b"auditor" not in untrusted
    assert b"auditor: audits" in trusted


def test_a_defined_agent_has_its_instructions_and_tools_alone(tmp_path: Path) -> None:
    with ServerThread(script(reads_then_reports, task("look", agent="auditor"))) as server:
        program = started(tmp_path, server)
        agent_file(program, "auditor", "tools: Read, Grep\n", "AUDIT-RULES")
        program.run("-p", "go")
        child = next(r for r in server.requests if says(r, "You are a subagent"))

    assert says(child, "AUDIT-RULES")
    assert {t["function"]["name"] for t in json.loads(child.body)["tools"]} == {"read", "grep"}


def test_subagents_of_subagents_stay_in_the_budget_and_end_somewhere(tmp_path: Path) -> None:
    def answer(request: Request) -> Step:
        tools = {tool["function"]["name"] for tool in json.loads(request.body).get("tools", [])}
        if request.last_result:
            return Step(text=f"<{request.last_result}>", usage=USAGE)
        return task("go deeper") if "task" in tools else Step(text="bottom", usage=USAGE)

    with ServerThread(answer) as server:
        program = started(tmp_path, server)
        result = result_of(program.run("-p", "go", "--output-format", "json"))
        requests = len(server.requests)

    assert result["result"] == "<<bottom>>"
    assert requests == 5
    assert result["usage"]["input_tokens"] == 500


async def connected(program: Program, *options: str) -> RpcClient:
    argv = [*program.argv, "rpc", *options]
    return await RpcClient.start(argv, cwd=str(program.project), env=program.env)


def writes(request: Request) -> Step:
    if request.last_result:
        return Step(text=f"report: {request.last_result}")
    return Step(calls=(Call("bash", {"command": "echo done > made.txt"}),))


@pytest.mark.parametrize("yes", [True, False])
async def test_a_person_is_asked_for_its_calls_and_sees_whose_they_are(tmp_path: Path, yes: bool) -> None:
    with ServerThread(script(writes, task("make it", agent="maker"))) as server:
        program = started(tmp_path, server)
        agent_file(program, "maker", "tools: bash, write\nisolation: none\n")
        async with await connected(program) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("go"))
            seen: list[Any] = []
            async for envelope in events:
                event = envelope.event
                seen.append(event)
                if isinstance(event, ToolApprovalRequested):
                    await client.send(Approve(event.call_id, event.digest, approved=yes))
                if isinstance(event, AgentCompleted):
                    break
            run = await running

    [asked] = [event for event in seen if isinstance(event, ToolApprovalRequested)]
    [resolved] = [event for event in seen if isinstance(event, ToolApprovalResolved)]
    assert asked.summary.startswith("[maker: part 0] ")
    assert asked.call_id.count("/") == 1
    assert resolved.call_id == asked.call_id
    assert ("the user said no" in (run.answer or "")) is not yes


async def test_what_a_person_refused_the_parent_is_not_asked_again_by_a_subagent(tmp_path: Path) -> None:
    def answer(request: Request) -> Step:
        if says(request, "You are a subagent"):
            return writes(request)
        if not request.last_result:
            return Step(calls=(Call("bash", {"command": "echo done > made.txt"}),))
        if "said no" in request.last_result and not says(request, "part 0"):
            return task("make it", agent="maker")
        return Step(text=f"heard: {request.last_result}")

    with ServerThread(answer) as server:
        program = started(tmp_path, server)
        agent_file(program, "maker", "tools: bash, write\nisolation: none\n")
        async with await connected(program) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("go"))
            asked = 0
            async for envelope in events:
                if isinstance(event := envelope.event, ToolApprovalRequested):
                    asked += 1
                    await client.send(Approve(event.call_id, event.digest, approved=False))
                if isinstance(envelope.event, AgentCompleted):
                    break
            run = await running

    assert asked == 1
    assert "the user said no" in (run.answer or "")
    assert not (program.project / "made.txt").exists()


async def test_cancelling_the_run_ends_its_subagents(tmp_path: Path) -> None:
    def child(request: Request) -> Step:
        return Step(text="y" * 20_000, pause=0.05)

    with ServerThread(script(child)) as server:
        program = started(tmp_path, server)
        async with await connected(program) as client:
            events = client.events()
            running = asyncio.ensure_future(client.run("go"))
            states = []
            async for envelope in events:
                if isinstance(event := envelope.event, SubagentReported):
                    states.append(event.state)
                    if event.state == "begun":
                        await client.send(Cancel())
                if isinstance(envelope.event, AgentCompleted):
                    break
            run = await running
            again = await client.run("and again")

    assert run.stop_reason == "cancelled"
    assert states[0] == "begun"
    assert again.stop_reason == "model_finished"


def git(folder: Path, *words: str) -> str:
    names = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project with something committed, something changed since, and something new."""
    project = tmp_path / "project"
    project.mkdir()
    git(project, "init")
    (project / "old.txt").write_text("committed\n")
    git(project, "add", "-A")
    git(project, "commit", "-m", "one")
    (project / "old.txt").write_text("changed since\n")
    (project / "loose.txt").write_text("never added\n")
    return project


def test_one_that_writes_does_so_in_a_worktree_and_hands_over_a_patch(
    tmp_path: Path, repository: Path
) -> None:
    seen: list[str] = []

    def child(request: Request) -> Step:
        seen.append(request.last_result)
        steps = (
            Step(calls=(Call("read", {"path": "old.txt"}), Call("read", {"path": "loose.txt"}))),
            Step(calls=(Call("write", {"path": "new.txt", "content": "made by it\n"}),)),
            Step(text="report: done"),
        )
        return steps[len(seen) - 1]

    with ServerThread(script(child, task("write it", agent="maker"))) as server:
        program = started(tmp_path, server)
        agent_file(program, "maker", "tools: Read, Write\n")
        before = git(repository, "status", "--porcelain")
        result = result_of(
            program.run(
                "-p", "go", "--output-format", "json", "--permission-mode", "full", "--sandbox", "off"
            )
        )
        after = git(repository, "status", "--porcelain")
        worktrees = git(repository, "worktree", "list").splitlines()
        patch = result["result"].partition("git apply ")[2].partition("`")[0]
        git(repository, "apply", patch)

    read = next(request.body for request in server.requests if says(request, "never added"))
    assert b"changed since" in read
    assert after == before
    assert len(worktrees) == 1
    assert (repository / "new.txt").read_text() == "made by it\n"
    assert list((program.home / "tmp").glob("wisp-worktree-*")) == []


def test_its_work_survives_its_failure(tmp_path: Path, repository: Path) -> None:
    def child(request: Request) -> Step:
        if request.last_result:
            return Step(fault=Fault(status=400, body="no more", times=99))
        return Step(calls=(Call("write", {"path": "new.txt", "content": "half done\n"}),))

    with ServerThread(script(child, task("write it", agent="maker"))) as server:
        program = started(tmp_path, server)
        agent_file(program, "maker", "tools: Read, Write\n")
        result = result_of(program.run("-p", "go", "--output-format", "json", "--permission-mode", "full"))

    patch = Path(result["result"].partition("git apply ")[2].partition("`")[0])
    assert "subagent_stopped" in result["result"]
    assert "+half done" in patch.read_text()


def test_without_a_repository_one_that_writes_does_not_begin(tmp_path: Path) -> None:
    with ServerThread(script(reads_then_reports, task("write it", agent="maker"))) as server:
        program = started(tmp_path, server)
        agent_file(program, "maker", "tools: Read, Write\n")
        result = result_of(program.run("-p", "go", "--output-format", "json", "--permission-mode", "full"))

    assert "not a git repository" in result["result"]


def test_it_has_no_more_rights_in_a_worktree(tmp_path: Path, repository: Path) -> None:
    def child(request: Request) -> Step:
        if request.last_result:
            return Step(text=f"report: {request.last_result}")
        return Step(calls=(Call("write", {"path": str(repository / "old.txt"), "content": "x"}),))

    with ServerThread(script(child, task("write it", agent="maker"))) as server:
        program = started(tmp_path, server)
        agent_file(program, "maker", "tools: Read, Write\n")
        result = result_of(program.run("-p", "go", "--output-format", "json", "--permission-mode", "ask"))

    assert "denied" in result["result"]
    assert (repository / "old.txt").read_text() == "changed since\n"
