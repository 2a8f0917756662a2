"""What a person is asked."""

from __future__ import annotations

from wisp.frontends.cli.ask import question
from wisp.host.events import ToolApprovalRequested


def _request(preview: str) -> ToolApprovalRequested:
    return ToolApprovalRequested("c1", "bash", "d", "run", preview, "ask mode asks before it runs a command")


def test_a_long_operation_is_shown_whole_and_its_length_first() -> None:
    """Padding hides nothing, and who sees only the end knows that there is more above."""
    shown = question(_request("\n".join(f"echo {n}" for n in range(60_000)) + "\nrm -rf /"))

    assert shown.strip().split("\n")[0].endswith("60001 lines)")
    assert all(f"  echo {n}\n" in shown for n in (0, 30_000, 59_999))
    assert "rm -rf /" in shown


def test_one_line_without_end_is_shown_whole_and_its_length_first() -> None:
    """What a terminal wraps over hundreds of rows has its last word shown, and is told to be long."""
    command = "echo " + "a" * 60_000 + "; touch tail"
    shown = question(_request(command))

    assert shown.strip().split("\n")[0].endswith(", 60,017 characters)")
    assert shown.endswith("; touch tail")


def test_the_tool_the_reason_and_the_whole_short_operation_are_there() -> None:
    """Nothing is left out of what fits."""
    shown = question(_request("make test\nmake clean"))

    assert all(word in shown for word in ("bash", "ask mode asks", "make test", "make clean"))


def test_a_files_name_in_the_reason_or_the_rule_drives_no_terminal_and_adds_no_line() -> None:
    """Both name the file, and a file may be named anything."""
    name = "/w/a\x1b[2J\r\nAllow this ls? \u202e"
    request = ToolApprovalRequested("c1", "edit", "d", "s", "x", f"{name} is protected", f"edit({name})")
    text = question(request)

    assert text.count("\n") == 3
    assert not set("\x1b\r\u202e") & set(text)
    assert "\\x1b[2J\\x0d\\x0aAllow" in text
