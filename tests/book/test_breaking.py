"""Every change that a chapter asks the reader to make leads to the outcome that the chapter prints."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.process


@dataclass(frozen=True)
class Change:
    """What a reader does, and how the output then ends."""

    chapter: str
    file: str
    old: str
    new: str
    command: str
    printed: str
    """Its last lines, as the chapter has them."""
    times: int = 1
    """How often the old text stands there; all of them are changed."""


PLAIN = "make_provider(), TOOLS, execute"
GOT = "but the latest row is"
COMPARED = "        check_unchanged(self.root, call.name, inputs)\n"
KEPT = (
    "add(2, 3) returns -1 instead of 5. Fix it and show that the test passes.\\n"
    "Run the tests to see the failure.\\ninterrupted: not started"
)
VAGUE = "error: old occurs more than once; include more of the surrounding lines"
CHANGES = {
    "one turn": Change(
        "01", "checkpoint_01.py", PLAIN, f"{PLAIN}, max_turns=1", "checkpoint_01", "stopped: turn_limit"
    ),
    "a lost message": Change(
        "01",
        "core.py",
        'return f"error: {failure}"',
        'return "the file could not be read"',
        "checkpoint_01",
        f"core.ScriptMismatch: answer 2 needs 'error: use read', {GOT} 'the file could not be read'",
    ),
    "a vague edit": Change(
        "02",
        "scripted.py",
        'WRONG = "    return a - b\\n"',
        'WRONG = "a"',
        "checkpoint_02",
        f"result edit-1: {VAGUE}\n"
        f"stopped: checkpoint_failed (answer 4 needs 'edited calculator.py', {GOT} '{VAGUE}')",
    ),
    "no comparison": Change(
        "05",
        "side_effects.py",
        COMPARED,
        "",
        "checkpoint_05 --scenario stale-input",
        "result edit-1: edited calculator.py: 1 replacement\n"
        f"stopped: checkpoint_failed (answer 3 needs 'stale_input', {GOT}"
        " 'edited calculator.py: 1 replacement')",
        times=2,
    ),
    "a lie about a call": Change(
        "06",
        "steering.py",
        "outcome = UNKNOWN if begun else NOT_STARTED",
        "outcome = NOT_STARTED",
        "checkpoint_06 --scenario mid-tool",
        "result test-1: interrupted: not started\n"
        f"stopped: checkpoint_failed (the run ended as interrupted with '{KEPT}')",
    ),
    "a forgotten view": Change(
        "09",
        "checkpoint_09.py",
        "fold_view(events[cut:], fold_view(events[:cut]))",
        "fold_view(events[cut:])",
        "checkpoint_09",
        "stopped: checkpoint_failed (a snapshot and the events behind it give another view)",
    ),
    "fear of the unknown": Change(
        "09",
        "host.py",
        "        case _:\n            return seen",
        "        case _:\n            raise ValueError(event.kind)",
        "checkpoint_09 --show text",
        "ValueError: weather",
    ),
    "half a line left": Change(
        "10",
        "journal.py",
        "            os.truncate(self._file, len(data) - len(loaded.torn))\n",
        "",
        "checkpoint_10",
        "stopped: checkpoint_failed (disk full 1: what was said after the crash is not on the disk)",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_that_a_chapter_asks_for_ends_as_the_chapter_says(tmp_path, what):
    change = CHANGES[what]
    shutil.copytree(
        CHECKOUT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__")
    )
    source = tmp_path / "examples/crafting_agents" / change.file
    text = source.read_text()
    assert text.count(change.old) == change.times
    source.write_text(text.replace(change.old, change.new))
    module, *flags = change.command.split()
    done = subprocess.run(
        [sys.executable, "-m", f"examples.crafting_agents.{module}", *flags],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    [page] = (CHECKOUT / "book/chapters").glob(f"{change.chapter}_*.md")

    assert done.stdout.rstrip("\n").endswith(change.printed), done.stdout[-2_000:]
    assert change.printed in page.read_text()
