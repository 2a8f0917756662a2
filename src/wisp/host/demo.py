"""The embedded default: a scripted model repairs a small project with the real tools, policy and session.

Nothing is simulated but the model.  Every step of the script states what the tools must have reported
before it, so a run in which a tool did something else fails instead of reading on.
"""

from __future__ import annotations

import os

import msgspec

from wisp.context.prompt import assemble, environment
from wisp.harness.gate import Gate
from wisp.host.assemble import assemble_host
from wisp.host.paths import environment as process_environment
from wisp.host.secrets import without_secrets
from wisp.host.service import SessionHost
from wisp.host.settings import Settings
from wisp.messages.ids import SystemClock
from wisp.policy.decide import Policy
from wisp.policy.rules import Rules, parse_rule
from wisp.providers.base import ModelInfo
from wisp.providers.scripted import ScriptedProvider, ScriptStep, call
from wisp.session.journal import FileJournal
from wisp.tools.builtin import default_tools
from wisp.workspace.root import Workspace

PROMPT = "add(2, 3) returns -1 instead of 5. Find the cause, fix it, and run the tests."
TESTS = "python3 -m unittest -q test_calculator"
SOURCE = "def add(a, b):\n    return a - b\n"
TEST_SOURCE = """\
import unittest

from calculator import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(5, add(2, 3))
"""


class Demo(msgspec.Struct, frozen=True):
    """An open demonstration."""

    host: SessionHost
    project: str
    prompt: str = PROMPT


def script(*, deny_edits: bool) -> list[ScriptStep]:
    """The model's part, with what it expects to have seen."""
    opening = [
        ScriptStep("I run the tests to see the failure.", calls=[call("bash", command=TESTS)]),
        ScriptStep(
            "The test fails; where is add defined?",
            calls=[call("grep", pattern="def add")],
            after=("FAILED", "exit code: 1"),
        ),
        ScriptStep(
            "I read the implementation.", calls=[call("read", path="calculator.py")], after="calculator.py"
        ),
        ScriptStep(
            "It subtracts. I change the operator.",
            calls=[
                call(
                    "edit",
                    path="calculator.py",
                    edits=[{"old_text": "return a - b", "new_text": "return a + b"}],
                )
            ],
            after="return a - b",
        ),
    ]
    if deny_edits:
        denied = "add subtracts b where it should add. I was not allowed to edit, so nothing has changed."
        return [*opening, ScriptStep(denied, after="denied")]
    return [
        *opening,
        ScriptStep("Now the tests again.", calls=[call("bash", command=TESTS)], after="return a + b"),
        ScriptStep("add subtracted b; it now adds, and the test passes.", after=("OK", "exit code: 0")),
    ]


def open_demo(folder: str, *, deny_edits: bool) -> Demo:
    """Make the broken project in the empty `folder` and a host that will repair it."""
    project, state = os.path.join(folder, "project"), os.path.join(folder, "state")
    os.makedirs(project)
    os.makedirs(state, mode=0o700)
    for name, text in (("calculator.py", SOURCE), ("test_calculator.py", TEST_SOURCE)):
        with open(os.path.join(project, name), "w", encoding="utf-8") as file:
            file.write(text)
    clock = SystemClock()
    workspace = Workspace(project)
    env = without_secrets(process_environment(), ())
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    tools = default_tools(workspace, environment=env, clock=clock, spool_folder=os.path.join(state, "output"))
    allow = [f"bash({TESTS})"] + ([] if deny_edits else ["edit(calculator.py)"])
    rules = Rules(tuple(map(parse_rule, allow)))
    gate = Gate(Policy("ask", workspace.cwd, rules), None)
    session_id = clock.new_id()
    blocks = assemble(environment=environment(workspace.cwd, os.uname().sysname, "", ""))
    host = assemble_host(
        provider=ScriptedProvider(script(deny_edits=deny_edits)),
        model=ModelInfo("scripted-demo"),
        tools=tools,
        gate=gate,
        approvals=None,
        storage=FileJournal(os.path.join(state, f"{session_id}.jsonl")),
        session_id=session_id,
        resumed=False,
        cwd=workspace.cwd,
        blocks=blocks,
        settings=Settings(),
        clock=clock,
    )
    return Demo(host, project)
