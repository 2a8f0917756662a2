"""The sixteen commands of chapters 1 to 5, started as a reader starts them, on every Python they promise.

They run in a copy of the examples with a temporary folder of their own, so whatever one leaves behind shows.
"""

import json
import os
import re
import signal
import sys
import time
from dataclasses import dataclass

import pytest
from book_reader import PYTHONS, Reader, send_after
from examples.crafting_agents.checkpoint_02 import PROMPT

BROKEN = "def add(a, b):\n    return a - b\n"
FIXED = "def add(a, b):\n    return a + b\n"

pytestmark = pytest.mark.process


@dataclass(frozen=True)
class Outcome:
    """What a command must print."""

    turns: int
    calls: tuple[str, ...]
    """Tool names, in order."""
    ending: str | None
    """The final source, or None for chapter 1, which has no file."""
    stopped: str = r"model_finished"
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()


REPAIR = ("test", "read", "edit", "test")
DENIED = ("test", "read", "edit")
FOUND = ("discover", "read")
PROOF = ("exit=1 ", "FAILED", "exit=0 ", "\nOK\n")
FAILED_STREAM = {"turns": 0, "calls": (), "ending": BROKEN, "contains": ("executed tools: 0",)}
COMMANDS = {
    "01": Outcome(3, ("read", "read"), None),
    "02": Outcome(5, REPAIR, FIXED, contains=PROOF),
    "02 --deny-edits": Outcome(4, DENIED, BROKEN, contains=("error: edit denied",)),
    "03": Outcome(7, FOUND + REPAIR, FIXED, contains=PROOF, lacks=("[truncated]", "API_KEY")),
    "03 --long-guidance": Outcome(7, FOUND + REPAIR, FIXED, contains=("[truncated]",)),
    "03 --untrusted": Outcome(7, FOUND + REPAIR, FIXED, lacks=("approved in advance", "requires-python")),
    "03 --deny-edits": Outcome(6, FOUND + DENIED, BROKEN, contains=("approved in advance", "edit denied")),
    "04": Outcome(7, FOUND + REPAIR, FIXED, contains=("text delta:", "arguments buffered:", *PROOF)),
    "04 --scenario repair": Outcome(7, FOUND + REPAIR, FIXED, lacks=("retry opening",)),
    "04 --scenario retry": Outcome(7, FOUND + REPAIR, FIXED, contains=("retry opening: attempt 2/3\n",)),
    "04 --scenario disconnect": Outcome(**FAILED_STREAM, stopped=r"provider_failure \(disconnect.*\)"),
    "04 --scenario malformed": Outcome(**FAILED_STREAM, stopped=r"provider_failure \(malformed.*\)"),
    "04 --scenario output-limit": Outcome(**FAILED_STREAM, stopped=r"provider_failure \(output_limit.*\)"),
    "05": Outcome(5, REPAIR, FIXED, contains=PROOF),
    "05 --scenario repair": Outcome(
        5,
        REPAIR,
        FIXED,
        contains=("approval granted: test", "approval granted: edit", "dispatch: edit"),
        lacks=("approval requested: read",),
    ),
    "05 --scenario policy-denied": Outcome(
        3, ("read", "edit"), BROKEN, contains=("host sees: edit",), lacks=("approval requested:", "dispatch:")
    ),
    "05 --scenario approval-denied": Outcome(
        3,
        ("read", "edit"),
        BROKEN,
        contains=("approval requested: edit",),
        lacks=("approval granted:", "dispatch:"),
    ),
    "05 --scenario stale-input": Outcome(
        3,
        ("read", "edit"),
        BROKEN + "# a person was here\n",
        contains=("approval granted: edit", "stale_input"),
        lacks=("dispatch:",),
    ),
    "03 --long-guidance --untrusted --deny-edits": Outcome(
        6, FOUND + DENIED, BROKEN, lacks=("[truncated]", "approved in advance")
    ),
    "03 --long-guidance --deny-edits": Outcome(
        6, FOUND + DENIED, BROKEN, contains=("[truncated]", "edit denied")
    ),
}


@pytest.fixture
def reader(tmp_path):
    return Reader(tmp_path)


@pytest.mark.parametrize("version", PYTHONS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_shows_what_its_chapter_promises_and_leaves_nothing(reader, version, command):
    expected = COMMANDS[command]
    status, out, err = reader.run(PYTHONS[version], command, "-S")

    assert (status, err) == (0, ""), out + err
    assert len(re.findall(r"^turn \d+: ", out, re.MULTILINE)) == expected.turns
    assert tuple(re.findall(r"^call \S+: (\w+) ", out, re.MULTILINE)) == expected.calls
    ending = "" if expected.ending is None else f"final source:\n{re.escape(expected.ending)}\n"
    assert re.search(rf"{ending}stopped: {expected.stopped}\n\Z", out), out
    assert [text for text in expected.contains if text not in out] == []
    assert [text for text in expected.lacks if text in out] == []


@pytest.mark.parametrize("flags", [("-E", "-s", "-S", "-B"), ("-X", "dev", "-W", "error"), ("-OO",)], ids=str)
@pytest.mark.parametrize("command", ["01", "02", "03", "04", "05", "06", "07", "08", "09"])
def test_a_command_does_not_depend_on_how_python_is_set_up(reader, command, flags):
    status, out, err = reader.run(sys.executable, command, *flags)
    slow = re.compile(r"^Executing <.* took .* seconds$")  # asyncio's remark on a slow machine, with -X dev

    assert (status, [line for line in err.splitlines() if not slow.match(line)]) == (0, [])
    assert out.endswith("stopped: model_finished\n")


@pytest.mark.parametrize(
    ("flags", "guidance"), [("", "Keep functions small"), (" --untrusted", "not declared")]
)
def test_the_first_request_is_printed_as_json_with_five_blocks_and_four_tools(reader, flags, guidance):
    _, out, _ = reader.run(sys.executable, f"03{flags}")
    request, _ = json.JSONDecoder().raw_decode(out, out.index("{"))

    assert [row["role"] for row in request["messages"]] == ["system"] * 5 + ["user"]
    assert request["messages"][5]["content"] == PROMPT
    assert guidance in request["messages"][2]["content"]
    assert [tool["name"] for tool in request["tools"]] == ["discover", "read", "edit", "test"]


def test_long_guidance_changes_the_guidance_block_and_nothing_else(reader):
    requests = []
    for command in ("03", "03 --long-guidance"):
        _, out, _ = reader.run(sys.executable, command)
        requests.append(json.JSONDecoder().raw_decode(out, out.index("{"))[0])
    normal, long = requests
    changed = [number for number in range(6) if normal["messages"][number] != long["messages"][number]]

    assert changed == [2]
    assert long["messages"][2]["content"].endswith("[truncated]")
    assert long["tools"] == normal["tools"]


def test_the_repair_asks_three_times_and_never_for_a_read(reader):
    _, out, _ = reader.run(sys.executable, "05")

    asked = re.findall(r"^approval requested: (\w+)", out, re.MULTILINE)
    assert asked == ["test", "edit", "test"]


def test_a_live_run_without_sdk_or_key_exits_2_with_one_sentence(reader):
    for flags, missing in ((("-S",), "SDK"), ((), "OPENAI_API_KEY")):
        status, out, err = reader.run(sys.executable, "04 --live --allow-execution", *flags)

        assert (status, out) == (2, "")
        assert err.count("\n") == 1
        assert missing in err or (not flags and "SDK" in err)


@pytest.mark.parametrize(
    "command", ["02 --no", "03 x", "04 --live --scenario repair", "04 --model m", "05 --scenario x"]
)
def test_a_wrong_flag_is_a_usage_error(reader, command):
    status, out, err = reader.run(sys.executable, command)

    assert (status, out) == (2, "")
    assert "error:" in err
    assert "Traceback" not in err


def sabotage(reader: Reader, old: str, new: str) -> None:
    """Change the reader's own copy of the workbench."""
    workbench = reader.checkout / "examples/crafting_agents/workbench.py"
    text = workbench.read_text()
    assert text.count(old) == 1
    workbench.write_text(text.replace(old, new))
    reader.before = reader.state()


def test_a_script_whose_expectation_is_not_met_fails_the_checkpoint(reader):
    sabotage(reader, 'return f"edited {path}', 'return f"changed {path}')
    status, out, err = reader.run(sys.executable, "02")

    assert (status, err) == (1, "")
    assert "stopped: checkpoint_failed (" in out


def test_an_ending_that_is_not_as_promised_fails_the_checkpoint(reader):
    sabotage(
        reader,
        "return handlers[call.name](**call.arguments)",
        "return 'FAILED, return a - b, edited calculator.py, OK'",
    )
    status, out, err = reader.run(sys.executable, "02")

    assert (status, err) == (1, "")
    assert "stopped: checkpoint_failed (calculator.py did not end as the checkpoint promises)\n" in out


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MOMENTS = [
    *((command, "turn 1") for command in ("02", "03", "04", "05")),
    ("02", "call test-1"),
    ("02", "result test-1"),
    ("02", "call test-2"),
    ("02", "final source"),
    ("02", "stopped"),
    ("03", "request 1"),
    ("04 --scenario retry", "retry opening"),
    ("04", "arguments buffered"),
    ("05", "approval requested"),
    ("05", "dispatch"),
]


@pytest.mark.parametrize(("command", "moment"), MOMENTS)
@pytest.mark.parametrize("number", SIGNALS[:2], ids=lambda number: number.name)
def test_a_signal_after_any_line_leaves_nothing_behind(reader, command, moment, number):
    with reader.start(sys.executable, command, "-u") as process:
        seen = send_after(process, moment, lambda: process.send_signal(number))
    reader.check_nothing_remains(process)

    # A fast run may reach its end before the signal reaches it.
    interrupted = seen.endswith("stopped: interrupted\n")
    assert process.returncode in ((128 + number,) if interrupted else (0, -number, 128 + number))
    assert seen.splitlines()[-1].startswith("stopped: ")


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_at_any_time_leaves_nothing_behind(reader, number):
    for milliseconds in range(20, 340, 40):
        with reader.start(sys.executable, "02", "-S") as process:
            time.sleep(milliseconds / 1_000)
            process.send_signal(number)
            process.communicate(timeout=30)
        reader.check_nothing_remains(process)


def test_two_signals_in_a_row_leave_nothing_behind(reader):
    for pause in (0, 0.001, 0.005, 0.02):
        with reader.start(sys.executable, "02", "-u") as process:
            process.stdout.readline()
            process.send_signal(signal.SIGINT)
            time.sleep(pause)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
        reader.check_nothing_remains(process)


@pytest.mark.parametrize("group", [False, True], ids=["alone", "with its child"])
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_while_the_tests_run_ends_them_at_once(reader, number, group):
    sabotage(
        reader, "import unittest\n\nfrom calc", "import time\nimport unittest\n\ntime.sleep(4)\nfrom calc"
    )
    send = os.killpg if group else os.kill
    with reader.start(sys.executable, "02", "-u") as process:
        started: list[float] = []

        def after_a_moment() -> None:
            time.sleep(0.2)
            started.append(time.monotonic())
            send(process.pid, number)

        seen = send_after(process, "call test-1", after_a_moment)
        took = time.monotonic() - started[0]
    reader.check_nothing_remains(process)

    assert process.returncode == 128 + number
    assert seen.endswith("call test-1: test {}\n\nstopped: interrupted\n")
    assert took < 2
