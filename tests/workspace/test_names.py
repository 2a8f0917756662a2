"""Names that look alike, and names that deserve a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from wisp.workspace.names import near, variant
from wisp.workspace.protected import why_protected
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken


@pytest.mark.parametrize(
    ("there", "asked"),
    [
        ("Screenshot 2026-01-01 at 9.41.00\u202fPM.png", "Screenshot 2026-01-01 at 9.41.00 PM.png"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("caf\u00e9.txt", "cafe\u0301.txt"),
        ("it\u2019s.md", "it's.md"),
        ("e\u0301/x", "\u00e9/x"),
    ],
)
def test_one_entry_that_looks_the_same_is_found(tmp_path: Path, there: str, asked: str) -> None:
    (tmp_path / there).parent.mkdir(exist_ok=True)
    (tmp_path / there).write_text("x")
    workspace = Workspace(str(tmp_path))
    found = variant(workspace, workspace.place(asked))
    assert found is not None
    assert found.relative == there
    workspace.close()


def test_two_that_look_the_same_are_not_guessed_between(tmp_path: Path) -> None:
    (tmp_path / "a\u00a0b").write_text("")
    (tmp_path / "a\u202fb").write_text("")
    workspace = Workspace(str(tmp_path))
    assert variant(workspace, workspace.place("a b")) is None
    assert variant(workspace, workspace.place("c")) is None
    assert near(workspace, workspace.place("nothing like it")) == []
    workspace.close()


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        "/x/.GIT/config",
        ".g\u200cit/config",
        ".git /config",
        ".git./config",
        ".git::$DATA/x",
        "GIT~1/config",
        ".wisp/settings.toml",
        ".vscode/settings.json",
        ".mcp.json",
        ".envrc",
        ".bashrc",
        ".npmrc",
        "a/b/.git",
        ".gitmodules",
        ".pre-commit-config.yaml",
        "sitecustomize.py",
        "conftest.py",
        "Makefile",
        ".ssh/authorized_keys",
        ".env",
        ".env.local",
        "key.pem",
        "a\\.git\\config",
    ],
)
def test_protected_for_writing(path: str) -> None:
    assert why_protected(path, "write")


@pytest.mark.parametrize(
    "path", [".env", "x/.env.production", "id_rsa", ".ssh/config", "a.key", ".netrc", ".git/config"]
)
def test_protected_for_reading(path: str) -> None:
    assert why_protected(path, "read")


@pytest.mark.parametrize(
    "path", ["src/app.py", "git/config", ".gitignore", ".env.example", "environment", "x.git/y"]
)
def test_ordinary_names_are_not_protected(path: str) -> None:
    assert not why_protected(path, "write")
    assert not why_protected(path, "read")


def test_a_withdrawn_stop_callback_is_not_called() -> None:
    stop = StopToken()
    calls: list[str] = []
    withdraw = stop.on_stop(lambda: calls.append("no"))
    stop.on_stop(lambda: calls.append("yes"))
    withdraw()
    stop.stop()
    withdraw()
    assert calls == ["yes"]
