"""Chapter 2: real files in a throw-away folder, and three tools that are strict about what they accept.

Owns the check of a call's arguments, and the tools read, edit and test.  Knows nothing of models.  Not
promised here: the folder is no sandbox (the test tool runs project code with your rights), and a program that
the tests leave behind is not hunted down.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from .core import ToolCall, ToolFailure, ToolSpec

SOURCE_NAME = "calculator.py"
TEST_NAME = "test_calculator.py"
PROJECT = {
    SOURCE_NAME: "def add(a, b):\n    return a - b\n",
    TEST_NAME: """\
import unittest

from calculator import add


class AddTest(unittest.TestCase):
    def test_two_and_three_make_five(self):
        self.assertEqual(5, add(2, 3))
""",
}
TOOLS = (
    ToolSpec("read", "Return the text of one project file.", ("path",)),
    ToolSpec("edit", "Replace text that occurs exactly once in a file.", ("path", "old", "new")),
    ToolSpec("test", "Run the project's tests and return their output."),
)
MAX_BYTES = 2_000
MAX_LINES = 30
TEST_SECONDS = 5
Handlers = Mapping[str, Callable[..., str]]


# region: dispatch
def check_call(call: ToolCall, tools: Sequence[ToolSpec]) -> None:
    """Raise ToolFailure unless this is a known tool with exactly its arguments, each a string for a file.

    The message tells the model what would have been right.
    """
    spec = next((spec for spec in tools if spec.name == call.name), None)
    if spec is None:
        raise ToolFailure(f"no tool {call.name!r}; there are: {', '.join(spec.name for spec in tools)}")
    if set(call.arguments) != set(spec.parameters):
        raise ToolFailure(f"{spec.name} needs exactly these: {', '.join(spec.parameters) or 'none'}")
    for name, value in call.arguments.items():
        if not isinstance(value, str):
            raise ToolFailure(f"argument {name!r} must be a string")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise ToolFailure(f"argument {name!r} holds half a surrogate pair, which no file can")


def dispatch(
    call: ToolCall, tools: Sequence[ToolSpec], handlers: Handlers, denied: Collection[str] = ()
) -> str:
    """Check a call, apply the host's refusals, then run the one handler the call names."""
    check_call(call, tools)
    if call.name in denied:
        raise ToolFailure(f"{call.name} denied by the host; nothing was done")
    return handlers[call.name](**call.arguments)


# endregion: dispatch


# region: bound_output
def bound_output(text: str, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES) -> tuple[str, bool]:
    """Return the longest beginning of text within both limits, and whether anything was left off.

    The flag is separate because a marker inside the text could be forged by the text.  A character is kept
    whole or not at all, so the result is valid UTF-8 of at most max_bytes.
    """
    kept = "".join(text.splitlines(keepends=True)[:max_lines])
    kept = kept.encode()[:max_bytes].decode(errors="ignore")
    return kept, kept != text


# endregion: bound_output


def read_source(root: Path, path: str, readable: Collection[str]) -> str:
    """Return a project file's text exactly as stored.

    Paths are compared with a list of names, never resolved: what is not on the list does not exist here.
    """
    if path not in readable:
        raise ToolFailure(f"no file {path!r} for this tool; use one of: {', '.join(sorted(readable))}")
    file = root / path
    if file.is_symlink() or not file.is_file():
        raise ToolFailure(f"{path} is not a regular file")
    try:
        return file.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ToolFailure(f"{path} cannot be read as UTF-8 text: {type(error).__name__}") from error


def read_file(root: Path, readable: Collection[str], path: str) -> str:
    """The read tool: bounded text under a header."""
    text, truncated = bound_output(read_source(root, path, readable))
    return f"truncated={truncated}\n{text}"


# region: exact edit
def replace_once(text: str, old: str, new: str) -> str:
    """Replace the single place where old occurs.

    Zero places mean that the model's picture of the file is out of date, and several that it has not said
    which one it means.  Guessing would turn either into a wrong edit, so both are failures.
    """
    if not old:
        raise ToolFailure("old must not be empty")
    first = text.find(old)
    if first < 0:
        raise ToolFailure("old does not occur in the file; read it again")
    # Looking again one character later also finds a match that overlaps the first.
    if text.find(old, first + 1) >= 0:
        raise ToolFailure("old occurs more than once; include more of the surrounding lines")
    return text[:first] + new + text[first + len(old) :]


def edit_file(root: Path, path: str, old: str, new: str) -> str:
    """The edit tool: every byte outside the match stays as it was."""
    changed = replace_once(read_source(root, path, (SOURCE_NAME,)), old, new)
    try:
        (root / path).write_bytes(changed.encode())
    except OSError as error:
        raise ToolFailure(f"{path} cannot be written: {type(error).__name__}") from error
    return f"edited {path}: 1 replacement"


# endregion: exact edit


# region: test tool
PYTHON = (sys.executable, "-I", "-S", "-B", "-X", "utf8", "-X", "no_debug_ranges")
TEST_COMMAND = (*PYTHON, "-m", "unittest", "discover", "-p", TEST_NAME)
PIPES: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}


def run_tests(root: Path) -> str:
    """The test tool: one fixed command, no shell, five seconds.

    The flags keep the reader's own set-up out (-I, -S) and byte code from being written (-B), against which a
    quick edit of equal size would otherwise be tested.  Without debug ranges every Python prints the same
    traceback.  The empty environment keeps secrets from the code.
    """
    try:
        done = subprocess.run(TEST_COMMAND, cwd=root, env={}, timeout=TEST_SECONDS, check=False, **PIPES)
    except subprocess.TimeoutExpired as error:
        raise ToolFailure(f"the tests did not end within {TEST_SECONDS} seconds") from error
    return describe_tests(root, done.returncode, done.stdout)


def describe_tests(root: Path, status: int, printed: bytes) -> str:
    """What the model sees of a test run.  A failing test is a good observation and no tool failure."""
    # Where the folder lies is nobody's business, and would make every trace different.
    output = printed.decode(errors="replace").replace(f"{root}/", "")
    text, truncated = bound_output(output)
    return f"exit={status} truncated={truncated}\n{text}"


# endregion: test tool


def make_handlers(root: Path, readable: Collection[str] = (SOURCE_NAME,)) -> Handlers:
    """Bind the tools to one project."""
    return {
        "read": lambda path: read_file(root, readable, path),
        "edit": lambda path, old, new: edit_file(root, path, old, new),
        "test": lambda: run_tests(root),
    }


def print_ending(root: Path, reason: str) -> None:
    """Show what the run left behind: the files are the proof, not the model's last sentence."""
    print(f"final source:\n{(root / SOURCE_NAME).read_text('utf-8', 'replace')}\nstopped: {reason}")
