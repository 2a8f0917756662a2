"""A command's words that reach outside through a link are told to the policy."""

from __future__ import annotations

from pathlib import Path

from wisp.messages.ids import SystemClock
from wisp.policy.decide import Policy, decide
from wisp.tools.shell import ShellTool
from wisp.workspace.root import Workspace


def test_reading_through_a_link_that_leaves_the_folder_is_asked(tmp_path: Path) -> None:
    """`cat notes` is reading; `cat leak` is not what it looks like."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("s")
    (work / "notes").write_text("n")
    (work / "leak").symlink_to(tmp_path / "secret")
    (work / "inner").symlink_to("notes")
    (work / "dir").symlink_to(tmp_path)
    workspace = Workspace(str(work))
    tool = ShellTool(workspace, {"PATH": "/usr/bin:/bin"}, SystemClock(), spool_folder=None)

    def verdict(command: str) -> str:
        return decide("bash", tool.prepare({"command": command}).effects, Policy("ask", str(work))).verdict

    assert verdict("cat notes") == "allow"
    assert verdict("cat inner") == "allow"
    assert verdict("cat leak") == "ask"
    assert verdict("cat notes leak") == "ask"
    assert verdict("head -n 3 dir/secret") == "ask"
    assert verdict("grep --file=leak x") == "ask"
    workspace.close()
