"""The commands of chapters 6 to 10, started as a reader starts them, on every Python they promise."""

import re
import signal
import sys

import pytest
from book_reader import PYTHONS, Reader, send_after

FIXED = "def add(a, b):\n    return a + b\n"
BROKEN = "def add(a, b):\n    return a - b\n"

pytestmark = pytest.mark.process

COMMANDS = {
    "06": (FIXED, ("steering: Keep the change to one line",)),
    "06 --scenario follow-up": (FIXED, ("turn 6: add subtracted its second argument.",)),
    "06 --scenario take-back": (FIXED, ("person: acts (turn 3)",)),
    "06 --scenario before-request": (FIXED, ("history:\n  user: add(2, 3)", "user: Go on.")),
    "06 --scenario mid-text": (FIXED, ("kept text: 'Run the tests to '",)),
    "06 --scenario mid-arguments": (FIXED, ("kept text: 'Read the code under test.'",)),
    "06 --scenario mid-tool": (FIXED, ("tests: killed", "the outcome is unknown")),
    "06 --scenario after-tool": (FIXED, ("tool for edit-1: edited calculator.py",)),
    "07": (FIXED, ("replayed request at record 18: equal",)),
    "07 --scenario kill": (
        FIXED,
        (
            "killed after record 3 (message); resumed behind: interrupted: not started",
            "killed after record 12 (intent); resumed behind: the program ended while this was running",
            "killed after record 19 (message)",
        ),
    ),
    "07 --scenario torn": (FIXED, ("cut at every byte", "flipped every byte")),
    "07 --scenario branch": (BROKEN.replace("a - b", "b + a"), ("branch first", "branch second")),
    "08": (FIXED, ("made room: ", "refused by the provider: 0", "It is called Dragonfly.")),
    "08 --scenario overflow": (FIXED, ("overflow: the provider refused", "It is called Dragonfly.")),
    "08 --scenario too-big": (BROKEN, ()),
    "08 --scenario every-window": (FIXED, ("window 200: context_overflow", "window 1940: model_finished")),
    "09": (FIXED, ("answered: edit-1, True", '"kind": "ended"', "|[idle]", '"protocol": 2')),
    "09 --show screen": (FIXED, ("|[asking] test (test-1)",)),
    "10": (FIXED, ("disk full          injected at 14 moments: lawful 14, repaired 14, lost 0",)),
    "10 --scenario tasks": (None, ("claimed: 40 of 40; passed: 33 of 40", "pass^4:")),
    "10 --scenario profile": (FIXED, ("time in our own functions",)),
}
ENDINGS = {
    "08 --scenario too-big": r"context_overflow \(the request does not fit: user \d+, tools \d+\)",
    "10 --scenario tasks": "tasks_scored",
}


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_shows_what_its_chapter_promises_and_leaves_nothing(reader, version, command):
    source, contains = COMMANDS[command]
    status, out, err = reader.run(PYTHONS[version], command, "-S")

    assert (status, err) == (0, ""), out + err
    ending = "" if source is None else f"final source:\n{re.escape(source)}\n"
    assert re.search(rf"{ending}stopped: {ENDINGS.get(command, 'model_finished')}\n\Z", out), out
    assert [text for text in contains if text not in out] == []


def test_what_was_taken_back_is_never_said(reader):
    _, out, _ = reader.run(sys.executable, "06 --scenario take-back")

    assert "rename" not in out


@pytest.mark.parametrize(
    "command", ["06 --scenario x", "07 --die-at 1", "08 --no", "09 --show paper", "10 --scenario", "06 y"]
)
def test_a_wrong_flag_is_a_usage_error(reader, command):
    status, out, err = reader.run(sys.executable, command)

    assert (status, out) == (2, "")
    assert "error:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("command", "moment"),
    [("06", "tests: started"), ("06", "steering"), ("07", "turn 2"), ("08", "made room"), ("09", "events")],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_after_any_line_leaves_nothing_behind(reader, command, moment, number):
    with reader.start(sys.executable, command, "-u") as process:
        seen = send_after(process, moment, lambda: process.send_signal(number))
    reader.check_nothing_remains(process)

    interrupted = seen.endswith("stopped: interrupted\n")
    assert process.returncode in ((128 + number,) if interrupted else (0, -number, 128 + number))
    assert seen.splitlines()[-1].startswith("stopped: ")
