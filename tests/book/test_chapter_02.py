"""Promises of chapter 2: strict calls, exact edits, honest limits, a test tool without surprises."""

import os

import pytest
from examples.crafting_agents.core import (
    Message,
    ScriptedProvider,
    ScriptMismatch,
    ScriptStep,
    ToolCall,
    ToolFailure,
    run_agent,
)
from examples.crafting_agents.scripted import REPAIR, step
from examples.crafting_agents.workbench import (
    PROJECT,
    TOOLS,
    bound_output,
    check_call,
    dispatch,
    make_handlers,
    replace_once,
)
from hypothesis import given
from hypothesis import strategies as st

BROKEN = "def add(a, b):\n    return a - b\n"
EDIT = {"path": "calculator.py", "old": "a - b", "new": "a + b"}


@pytest.fixture
def project(tmp_path):
    for name, text in PROJECT.items():
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def call(root, name, denied=(), **arguments):
    return dispatch(ToolCall("1", name, arguments), TOOLS, make_handlers(root), denied)


def source(root) -> bytes:
    return (root / "calculator.py").read_bytes()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("shell", {"command": "true"}),
        ("", {}),
        ("read", {}),
        ("read", {"path": "calculator.py", "more": "x"}),
        ("read", {"file": "calculator.py"}),
        ("read", {"path": 1}),
        ("read", {"path": None}),
        ("edit", {"path": "calculator.py", "old": "a"}),
        ("edit", {"path": "calculator.py", "old": "a", "new": "\ud800"}),
        ("test", {"path": "calculator.py"}),
    ],
)
def test_a_call_that_is_not_exactly_a_known_one_is_a_failure_and_no_crash(name, arguments):
    with pytest.raises(ToolFailure):
        check_call(ToolCall("1", name, arguments), TOOLS)


@pytest.mark.parametrize(
    "path", ["test_calculator.py", "../calculator.py", "./calculator.py", "/etc/passwd", "", "sum.py"]
)
@pytest.mark.parametrize("name", ["read", "edit"])
def test_only_the_implementation_can_be_read_or_edited(project, name, path):
    arguments = {"path": path} if name == "read" else {**EDIT, "path": path}

    with pytest.raises(ToolFailure, match=r"calculator\.py"):
        call(project, name, **arguments)


@pytest.mark.parametrize("name", ["read", "edit"])
def test_a_symbolic_link_is_refused_and_its_target_untouched(project, tmp_path_factory, name):
    outside = tmp_path_factory.mktemp("outside") / "target.py"
    outside.write_text(BROKEN)
    (project / "calculator.py").unlink()
    (project / "calculator.py").symlink_to(outside)

    with pytest.raises(ToolFailure, match="regular file"):
        call(project, name, **({"path": "calculator.py"} if name == "read" else EDIT))
    assert outside.read_text() == BROKEN


def test_a_missing_file_is_a_failure(project):
    (project / "calculator.py").unlink()

    with pytest.raises(ToolFailure, match="regular file"):
        call(project, "read", path="calculator.py")


def test_a_file_in_another_encoding_is_a_failure(project):
    (project / "calculator.py").write_bytes(b"# caf\xe9\n")

    with pytest.raises(ToolFailure, match="UTF-8"):
        call(project, "read", path="calculator.py")


@pytest.mark.parametrize(
    ("text", "old"),
    [("abc", ""), ("abc", "d"), ("abab", "ab"), ("aaa", "aa"), ("x\r\n", "x\n")],
)
def test_text_that_does_not_occur_exactly_once_changes_nothing(text, old):
    with pytest.raises(ToolFailure):
        replace_once(text, old, "new")


def test_an_edit_keeps_every_byte_outside_the_match(project):
    (project / "calculator.py").write_bytes("\ufeffone\r\ntwo\n\tthr\u00e9e".encode())
    call(project, "edit", path="calculator.py", old="two", new="2")

    assert "\ufeffone\r\n2\n\tthr\u00e9e".encode() == source(project)


@given(before=st.text("ab\n"), after=st.text("ab\n"), new=st.text("cd\n", min_size=1))
def test_an_edit_and_its_inverse_restore_the_text(before, after, new):
    text = f"{before}#{after}"
    changed = replace_once(text, "#", f"#{new}#")

    assert text == replace_once(changed, f"#{new}#", "#")


def test_a_denied_edit_changes_nothing(project):
    with pytest.raises(ToolFailure, match="edit denied"):
        call(project, "edit", denied=("edit",), **EDIT)
    assert BROKEN.encode() == source(project)


@pytest.mark.parametrize(
    ("text", "max_bytes", "max_lines", "kept", "truncated"),
    [
        ("\u00e9\u00e9\u00e9\u00e9\u00e9", 9, 2, "\u00e9\u00e9\u00e9\u00e9", True),
        ("\u00e9\n\u00e9\n\u00e9\n", 9, 2, "\u00e9\n\u00e9\n", True),
        ("\u20ac\u20ac\n\u20ac\n", 9, 2, "\u20ac\u20ac\n", True),
        ("\U0001f600\U0001f600\U0001f600", 9, 2, "\U0001f600\U0001f600", True),
        ("\u00e9\n\u00e9", 9, 2, "\u00e9\n\u00e9", False),
        ("\u20ac\u20ac\u20ac", 9, 2, "\u20ac\u20ac\u20ac", False),
        ("", 9, 2, "", False),
    ],
)
def test_output_is_cut_at_whole_characters_and_says_so(text, max_bytes, max_lines, kept, truncated):
    assert (kept, truncated) == bound_output(text, max_bytes=max_bytes, max_lines=max_lines)


@given(st.text(), st.integers(0, 20), st.integers(0, 4))
def test_bounded_output_is_a_beginning_within_both_limits(text, max_bytes, max_lines):
    text = text.encode(errors="ignore").decode()
    kept, truncated = bound_output(text, max_bytes=max_bytes, max_lines=max_lines)

    assert text.startswith(kept)
    assert len(kept.encode()) <= max_bytes
    assert kept.count("\n") <= max_lines
    assert truncated is (kept != text)


@pytest.mark.parametrize(
    ("body", "kept"), [("x" * 3_000, "x" * 2_000), ("y\n" * 31, "y\n" * 30), ("z\n" * 30, "z\n" * 30)]
)
def test_a_read_returns_at_most_2000_bytes_and_30_lines_under_a_header(project, body, kept):
    (project / "calculator.py").write_text(body)

    assert f"truncated={kept != body}\n{kept}" == call(project, "read", path="calculator.py")


def test_the_test_tool_reports_failure_and_success_and_leaves_no_file(project):
    before = call(project, "test")
    call(project, "edit", **EDIT)
    after = call(project, "test")

    assert before.startswith("exit=1 truncated=False\n")
    assert "FAILED (failures=1)" in before
    assert after.startswith("exit=0 truncated=False\n")
    assert "OK" in after
    assert str(project) not in before
    assert set(PROJECT) == {entry.name for entry in project.iterdir()}


def test_the_test_tool_bounds_what_the_tests_print(project):
    (project / "calculator.py").write_text("for number in range(99):\n    print(number)\n" + BROKEN)
    header, *lines = call(project, "test").splitlines()

    assert header == "exit=1 truncated=True"
    assert len(lines) <= 30


@pytest.mark.slow
def test_the_test_tool_stops_after_five_seconds(project):
    (project / "calculator.py").write_text("while True:\n    pass\n")

    with pytest.raises(ToolFailure, match="within 5 seconds"):
        call(project, "test")


def test_the_test_tool_passes_no_variable_of_ours_to_the_project(project):
    body = (
        "import os, unittest\n\n\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        raise ValueError(sorted(os.environ))\n"
    )
    (project / "test_calculator.py").write_text(body)
    shown = call(project, "test")

    # The interpreter and the C library may set these themselves.
    foreign = [name for name in os.environ if f"'{name}'" in shown and name not in ("LC_CTYPE", "PWD", "_")]
    assert "ValueError" in shown
    assert foreign == []


async def test_exercise_a_stale_edit_is_an_observation_and_a_reread_repairs(project):
    stale = {"path": "calculator.py", "old": "return a * b", "new": "return a + b"}
    head = [
        step("Edit from memory.", "e1", "edit", **stale),
        step("Read again.", "r1", "read", after="does not occur", path="calculator.py"),
    ]
    good = [*head, step("Correct it.", "e2", "edit", after="return a - b", **EDIT)]
    good.append(ScriptStep(Message("assistant", "Done."), after="edited"))
    handlers = make_handlers(project)

    def execute(made: ToolCall) -> str:
        return dispatch(made, TOOLS, handlers)

    result = await run_agent("go", ScriptedProvider(good), TOOLS, execute, report=lambda line: None)

    assert result.stop_reason == "model_finished"
    assert BROKEN.replace("-", "+").encode() == source(project)


async def test_a_script_that_expects_a_stale_edit_to_work_fails(project):
    steps = [step("Edit.", "e1", "edit", **{**EDIT, "old": "a * b"}), REPAIR[3]]
    handlers = make_handlers(project)

    with pytest.raises(ScriptMismatch, match=r"edited calculator\.py"):
        await run_agent(
            "go",
            ScriptedProvider(steps),
            TOOLS,
            lambda made: dispatch(made, TOOLS, handlers),
            report=lambda line: None,
        )
    assert BROKEN.encode() == source(project)
