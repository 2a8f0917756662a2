"""Promises of chapter 5: what is not allowed is not asked, and only what was agreed to is done."""

import pytest
from examples.crafting_agents.checkpoint_03 import context_handlers
from examples.crafting_agents.checkpoint_05 import EFFECTS_ALLOWED
from examples.crafting_agents.context import CONTEXT_PROJECT, CONTEXT_TOOLS
from examples.crafting_agents.core import ScriptedProvider, ToolCall, ToolFailure, run_agent
from examples.crafting_agents.scripted import step
from examples.crafting_agents.side_effects import ControlledExecutor, Policy

BROKEN = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"
EDIT = {"path": "calculator.py", "old": "a - b", "new": "a + b"}


class Host:
    """A project with a host around it that notes everything and does what a test tells it to."""

    def __init__(self, root, *, answer=True, policy=EFFECTS_ALLOWED, tools=CONTEXT_TOOLS):
        self.root = root
        self.lines: list[str] = []
        self.requests: list[object] = []
        self.answer = answer
        self.while_asked = lambda: None
        self.while_reporting = lambda line: None
        for name, text in CONTEXT_PROJECT.items():
            (root / name).write_bytes(text.encode())
        self.executor = ControlledExecutor(
            root, tools, context_handlers(root), self.approve, policy, self.report
        )

    def approve(self, request):
        self.requests.append(request)
        self.while_asked()
        return self.answer

    def report(self, line):
        self.lines.append(line)
        self.while_reporting(line)

    def call(self, name, **arguments):
        return self.executor.execute(ToolCall("1", name, arguments))

    @property
    def source(self):
        return (self.root / "calculator.py").read_bytes().decode()

    @property
    def dispatched(self):
        return any(line.startswith("dispatch:") for line in self.lines)


def change_source(host, text=BROKEN + "# changed\n"):
    (host.root / "calculator.py").write_bytes(text.encode())


def test_an_approved_edit_is_announced_in_order_and_done(tmp_path):
    host = Host(tmp_path)
    host.call("edit", **EDIT)

    assert host.source == FIXED
    prefixes = [line.partition(":")[0] for line in host.lines]
    assert prefixes == ["host sees", "approval requested", "approval granted", "dispatch"]


@pytest.mark.parametrize("answer", [False, None, "yes", 1, object()])
@pytest.mark.parametrize("name", ["edit", "test"])
def test_anything_but_true_is_a_denial_and_never_dispatches(tmp_path, name, answer):
    host = Host(tmp_path, answer=answer)

    with pytest.raises(ToolFailure, match="approval_denied"):
        host.call(name, **(EDIT if name == "edit" else {}))
    assert host.source == BROKEN
    assert len(host.requests) == 1
    assert not host.dispatched


@pytest.mark.parametrize("name", ["edit", "test"])
def test_the_default_policy_reads_only_and_a_disallowed_tool_never_prompts(tmp_path, name):
    host = Host(tmp_path, policy=Policy())

    with pytest.raises(ToolFailure, match="policy_denied"):
        host.call(name, **(EDIT if name == "edit" else {}))
    assert host.source == BROKEN
    assert host.requests == []
    assert not host.dispatched


def test_reads_need_no_approval(tmp_path):
    host = Host(tmp_path, policy=Policy(), answer=False)

    assert "return a - b" in host.call("read", path="calculator.py")
    assert "calculator.py" in host.call("discover")
    assert host.requests == []


def test_exercise_a_tool_that_is_exposed_but_not_allowed_and_one_that_is_hidden(tmp_path):
    exposed = Host(tmp_path, policy=Policy())
    with pytest.raises(ToolFailure, match="policy_denied"):
        exposed.call("edit", **EDIT)

    hidden = Host(tmp_path, tools=[spec for spec in CONTEXT_TOOLS if spec.name != "edit"])
    with pytest.raises(ToolFailure, match="no tool 'edit'"):
        hidden.call("edit", **EDIT)
    assert (exposed.requests, hidden.requests) == ([], [])


@pytest.mark.parametrize(
    "moment", ["host sees", "approval requested", "asked", "approval granted", "dispatch"]
)
def test_changing_the_arguments_in_any_callback_has_no_effect(tmp_path, moment):
    host = Host(tmp_path)
    arguments = dict(EDIT)

    def mutate(line=""):
        if line.startswith(moment) or moment == "asked":
            arguments.update(old="add", new="rm")

    host.while_reporting = mutate if moment != "asked" else host.while_reporting
    host.while_asked = mutate if moment == "asked" else host.while_asked
    host.executor.execute(ToolCall("1", "edit", arguments))

    assert arguments["new"] == "rm"
    assert host.source == FIXED
    assert dict(host.requests[0].arguments) == EDIT


def test_a_request_shows_the_exact_operation_and_cannot_be_changed(tmp_path):
    host = Host(tmp_path)
    host.call("edit", **EDIT)
    request = host.requests[0]

    assert (request.tool, dict(request.arguments)) == ("edit", EDIT)
    assert [(file.path, file.text) for file in request.inputs] == [("calculator.py", BROKEN)]
    with pytest.raises(AttributeError):
        request.tool = "test"


def test_a_test_run_depends_on_two_files(tmp_path):
    host = Host(tmp_path)
    host.call("test")

    assert [file.path for file in host.requests[0].inputs] == ["calculator.py", "test_calculator.py"]


@pytest.mark.parametrize(
    ("tool", "file"), [("edit", "calculator.py"), ("test", "calculator.py"), ("test", "test_calculator.py")]
)
def test_an_input_that_changes_while_being_asked_makes_the_approval_void(tmp_path, tool, file):
    host = Host(tmp_path)
    host.while_asked = lambda: (tmp_path / file).write_text("# changed\n")

    with pytest.raises(ToolFailure, match="stale_input"):
        host.call(tool, **(EDIT if tool == "edit" else {}))
    assert "approval granted: " + tool in host.lines
    assert not host.dispatched
    assert (tmp_path / file).read_text() == "# changed\n"


def test_changed_inputs_need_a_new_request(tmp_path):
    host = Host(tmp_path)
    host.while_asked = lambda: change_source(host)
    with pytest.raises(ToolFailure, match="stale_input"):
        host.call("edit", **EDIT)
    host.while_asked = lambda: None
    host.call("edit", **EDIT)

    assert host.source == FIXED + "# changed\n"
    assert [request.inputs[0].text for request in host.requests] == [BROKEN, BROKEN + "# changed\n"]


def test_an_approval_covers_one_invocation(tmp_path):
    host = Host(tmp_path)
    host.call("test")
    host.answer = False

    with pytest.raises(ToolFailure, match="approval_denied"):
        host.call("test")
    assert len(host.requests) == 2


@pytest.mark.parametrize("moment", ["approval requested", "approval granted", "dispatch"])
def test_a_reporter_that_edits_the_file_is_caught(tmp_path, moment):
    host = Host(tmp_path)
    host.while_reporting = lambda line: change_source(host) if line.startswith(moment) else None

    with pytest.raises(ToolFailure, match="stale_input"):
        host.call("edit", **EDIT)
    assert host.source == BROKEN + "# changed\n"


@pytest.mark.parametrize(
    "arguments",
    [
        {**EDIT, "path": "../calculator.py"},
        {**EDIT, "path": "test_calculator.py"},
        {**EDIT, "path": "AGENTS.md"},
        {**EDIT, "old": "nowhere"},
        {**EDIT, "old": "a"},
        {**EDIT, "old": ""},
        {"path": "calculator.py"},
    ],
)
def test_an_edit_that_cannot_succeed_never_reaches_approval(tmp_path, arguments):
    host = Host(tmp_path)

    with pytest.raises(ToolFailure):
        host.call("edit", **arguments)
    assert host.requests == []
    assert host.source == BROKEN


@pytest.mark.parametrize(("characters", "accepted"), [(16_000, True), (16_001, False)])
def test_a_snapshot_holds_16000_characters(tmp_path, characters, accepted):
    host = Host(tmp_path)
    change_source(host, BROKEN + "\u00e9" * (characters - len(BROKEN)))

    if accepted:
        host.call("edit", **EDIT)
        assert host.source.startswith(FIXED)
    else:
        with pytest.raises(ToolFailure, match="16000"):
            host.call("edit", **EDIT)
        assert host.requests == []


class Crash(Exception):
    """Something that no tool raises."""


@pytest.mark.parametrize(("raised", "seen"), [(Crash("x"), Crash), (ToolFailure("x"), RuntimeError)])
@pytest.mark.parametrize("where", ["approve", "report"])
async def test_an_error_in_a_callback_stops_the_run_without_effect(tmp_path, raised, seen, where):
    host = Host(tmp_path)

    def fail(*ignored):
        raise raised

    if where == "approve":
        host.while_asked = fail
    else:
        host.while_reporting = lambda line: fail() if line.startswith("dispatch") else None
    provider = ScriptedProvider([step("Edit.", "e1", "edit", **EDIT)])

    with pytest.raises(seen):
        await run_agent("go", provider, CONTEXT_TOOLS, host.executor.execute, report=lambda line: None)
    assert host.source == BROKEN


async def test_a_file_in_another_encoding_is_an_observation(tmp_path):
    host = Host(tmp_path)
    (tmp_path / "calculator.py").write_bytes(b"\xff\xfe")
    provider = ScriptedProvider([step("Edit.", "e1", "edit", **EDIT), step("I see.", after="UTF-8")])
    result = await run_agent("go", provider, CONTEXT_TOOLS, host.executor.execute, report=lambda line: None)

    assert result.stop_reason == "model_finished"
    assert host.requests == []


def test_bad_bytes_written_during_approval_are_an_observation_too(tmp_path):
    host = Host(tmp_path)
    host.while_asked = lambda: (tmp_path / "calculator.py").write_bytes(b"\xff")

    with pytest.raises(ToolFailure, match="stale_input"):
        host.call("edit", **EDIT)


@pytest.mark.parametrize("moment", ["asked", "dispatch"])
def test_a_symbolic_link_put_in_place_during_approval_is_refused(tmp_path, tmp_path_factory, moment):
    host = Host(tmp_path)
    target = tmp_path_factory.mktemp("outside") / "target.py"
    target.write_text(BROKEN)

    def swap():
        (tmp_path / "calculator.py").unlink()
        (tmp_path / "calculator.py").symlink_to(target)

    if moment == "asked":
        host.while_asked = swap
    else:
        host.while_reporting = lambda line: swap() if line.startswith("dispatch") else None

    with pytest.raises(ToolFailure, match="stale_input"):
        host.call("edit", **EDIT)
    assert target.read_text() == BROKEN
