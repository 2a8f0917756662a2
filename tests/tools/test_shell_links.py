"""A command's words that reach outside through a link are told to the policy."""

from __future__ import annotations

from pathlib import Path

from wisp.messages.ids import SystemClock
from wisp.policy.decide import Policy, decide
from wisp.policy.modes import Mode
from wisp.policy.rules import Rules, parse_rule
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


def test_what_a_command_comes_upon_without_saying_so_is_asked(tmp_path: Path) -> None:
    """Patterns, folders changed into, names in quotes, whole folders: links that leave and files with secrets."""
    work, out = tmp_path / "work", tmp_path / "out"
    for folder in (work / "sub", work / "clean" / "node_modules", work / ".git", out):
        folder.mkdir(parents=True)
    (out / "notes").write_text("n")
    (work / "sub" / "away").symlink_to(out)
    (work / "my link").symlink_to(out / "notes")
    (work / "clean" / "a.py").write_text("a")
    (work / "clean" / "node_modules" / "test.pem").write_text("no secret of ours")
    (work / ".git" / "config").write_text("[core]\n")
    workspace = Workspace(str(work))
    tool = ShellTool(workspace, {"PATH": "/usr/bin:/bin"}, SystemClock(), spool_folder=None)

    def verdict(command: str, mode: Mode = "ask") -> str:
        return decide("bash", tool.prepare({"command": command}).effects, Policy(mode, str(work))).verdict

    for command in (
        "cat s*/away/notes",
        "cat sub/aw?y/notes",
        "cd sub && cat away/notes",
        "cat 'my link'",
        "diff -r sub clean",
        "d''iff sub clean -N",
    ):
        assert verdict(command) == "ask", command
    assert verdict("cd sub && cat away/notes", "read-only") != "allow"
    assert verdict("ls -la sub") == "allow"
    assert verdict("grep -rn x .") == "allow"
    (work / ".env").write_text("KEY=1")
    (work / "sub" / "server.pem").write_text("-")
    for command in (
        "cat .e*",
        "cat sub/*.p?m",
        "grep -rn x .",
        "grep -n x -d recurse .",
        "cd sub && grep -r x .",
        "rg x",
        "rg --hidden x .",
        "r'g' '--hidden' x .",
        "gr\"e\"p '-r' x .",
        "diff -N . clean",
        "rg -uu x",
    ):
        assert verdict(command) == "ask", command
    assert verdict("grep -rn x clean") == "allow"
    assert verdict("rg x clean") == "allow"
    (work / "sub" / "server.pem").unlink()
    assert verdict("rg x") == "allow"
    (work / ".env").unlink()
    (work / ".git" / "config").write_text("[remote]\nurl = https://me:word@host/x\n")
    assert verdict("grep -rn x .") == "ask"
    workspace.close()


def test_a_line_with_an_allowed_part_does_not_carry_a_hidden_one(tmp_path: Path) -> None:
    """`pytest` was allowed, what `cat` would show was not."""
    work = tmp_path / "work"
    work.mkdir()
    (work / ".env").write_text("KEY=1")
    workspace = Workspace(str(work))
    tool = ShellTool(workspace, {"PATH": "/usr/bin:/bin"}, SystemClock(), spool_folder=None)
    policy = Policy("ask", str(work), Rules(allow=(parse_rule("bash(pytest **)"),)))

    def verdict(command: str) -> str:
        return decide("bash", tool.prepare({"command": command}).effects, policy).verdict

    assert verdict("pytest -q && ls") == "allow"
    assert verdict("pytest -q && cat .e*") == "ask"
    workspace.close()
