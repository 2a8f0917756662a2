"""What a person is asked."""

from __future__ import annotations

from wisp.frontends.cli.ask import MOST_LINES, question
from wisp.host.events import ToolApprovalRequested


def _request(preview: str) -> ToolApprovalRequested:
    return ToolApprovalRequested("c1", "bash", "d", "run", preview, "ask mode asks before it runs a command")


def test_the_end_of_a_long_operation_is_always_shown() -> None:
    """Padding cannot push the payload out of sight."""
    shown = question(_request("\n".join(f"echo {n}" for n in range(60_000)) + "\nrm -rf /"))

    assert "rm -rf /" in shown
    assert "echo 0" in shown
    assert f"{60_001 - MOST_LINES} lines not shown" in shown


def test_the_tool_the_reason_and_the_whole_short_operation_are_there() -> None:
    """Nothing is left out of what fits."""
    shown = question(_request("make test\nmake clean"))

    assert all(word in shown for word in ("bash", "ask mode asks", "make test", "make clean"))
