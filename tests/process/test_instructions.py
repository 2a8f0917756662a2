"""The instruction stack from outside: order, budget, imports, folders below, provenance."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from process.program import Program
from process.server import ServerThread

pytestmark = pytest.mark.process


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Works in `repo/sub` of a repository; the repository's folder and `sub` are trusted."""
    made = Program(tmp_path / "home", tmp_path / "repo" / "sub")
    (tmp_path / "repo" / ".git").mkdir()
    return made


def _sources(program: Program, *args: str) -> list[str]:
    shown = program.run("--print-instructions", *args).stdout
    return re.findall(r"^--- (.*) \([\d,]+ bytes\)$", shown, re.MULTILINE)


def test_the_stack_goes_from_the_user_through_the_repository_to_the_folder(program: Program) -> None:
    """Broadest first, each folder by its own trust."""
    root = program.project.parent
    (program.home / "config" / "AGENTS.md").write_text("user\n")
    (root / "AGENTS.md").write_text("root\n")
    (program.project / "AGENTS.md").write_text("sub\n")
    (root.parent / "AGENTS.md").write_text("above the repository\n")
    user = str(program.home / "config" / "AGENTS.md")
    built_in = ["built-in", "built-in"]

    assert _sources(program) == [*built_in, user]
    program.run("trust", "allow")
    assert _sources(program) == [*built_in, user, "AGENTS.md"]
    program.run("trust", "allow", str(root))
    program.run("trust", "allow", str(root.parent))
    assert _sources(program) == [*built_in, user, str(root / "AGENTS.md"), "AGENTS.md"]
    assert _sources(program, "--no-project") == [*built_in, user]


def test_claude_md_stands_in_with_its_imports(program: Program) -> None:
    """Only without an AGENTS.md; imports stay inside, out of code, and each comes once."""
    (program.project / "CLAUDE.md").write_text(
        "See @docs/a.md and `@docs/b.md`.\n@../outside.md @~/x @/etc/hostname @missing.md mail@docs/a.md\n```\n@docs/b.md\n```\n"
    )
    (program.project / "docs").mkdir()
    (program.project / "docs" / "a.md").write_text("IMPORTED-A @b.md @../CLAUDE.md @a.md")
    (program.project / "docs" / "b.md").write_text("IMPORTED-B")
    (program.project.parent / "outside.md").write_text("OUTSIDE")
    program.run("trust", "allow")
    shown = program.run("--print-instructions").stdout

    assert "See IMPORTED-A IMPORTED-B @../CLAUDE.md @a.md and `@docs/b.md`." in shown
    assert "@../outside.md @~/x @/etc/hostname @missing.md mail@docs/a.md" in shown
    assert "OUTSIDE" not in shown
    assert shown.count("IMPORTED-B") == 1
    assert "CLAUDE.md (with docs/a.md, docs/b.md)" in shown
    (program.project / "AGENTS.md").write_text("AGENTS")
    assert "IMPORTED-A" not in program.run("--print-instructions").stdout


def test_the_budget_is_shared_the_nearest_first_and_what_is_cut_is_said(program: Program) -> None:
    """32,768 bytes for all files: sub has 20,000, the repository's the other 12,768."""
    (program.project / "AGENTS.md").write_text("s" * 20_000)
    (program.project.parent / "AGENTS.md").write_text("r" * 20_000)
    (program.home / "config" / "AGENTS.md").write_text("u" * 100)
    program.run("trust", "allow")
    program.run("trust", "allow", "..")
    done = program.run("--print-instructions")

    assert [done.stdout.count(c * 1_000) for c in "sr"] == [20, 12]
    assert "uuu" not in done.stdout
    assert f"{program.project.parent / 'AGENTS.md'}: 12,768 of 20,000 bytes" in done.stderr
    assert "config/AGENTS.md: 0 of 100 bytes" in done.stderr
    assert "[cut here: 7,232 bytes" in done.stdout


def test_a_linked_instruction_file_leads_nowhere_outside(program: Program) -> None:
    """It is left out, and that is said."""
    (program.project.parent / "secret").write_text("SECRET")
    (program.project / "AGENTS.md").symlink_to("../secret")
    program.run("trust", "allow")
    done = program.run("--print-instructions")

    assert "SECRET" not in done.stdout
    assert "AGENTS.md is left out" in done.stderr


def test_a_folders_instructions_come_when_a_tool_first_touches_it(tmp_path: Path) -> None:
    """Once, before the next request, and not for folders nobody touched; untrusted folders never."""
    steps = [
        {"text": "", "calls": [{"name": "read", "arguments": {"path": "pkg/deep/x.txt"}}]},
        {"text": "", "calls": [{"name": "ls", "arguments": {"path": "pkg/deep"}}]},
        {"text": "done"},
    ]
    for trusted in (True, False):
        with ServerThread(list(steps)) as server:
            program = Program(
                tmp_path / f"home{trusted}", tmp_path / f"work{trusted}", url=server.base_url("openai-chat")
            )
            deep = program.project / "pkg" / "deep"
            deep.mkdir(parents=True)
            (deep / "x.txt").write_text("x\n")
            (program.project / "pkg" / "AGENTS.md").write_text("NESTED-PKG")
            (deep / "CLAUDE.md").write_text("NESTED-DEEP")
            (program.project / "other").mkdir()
            (program.project / "other" / "AGENTS.md").write_text("NESTED-OTHER")
            if trusted:
                program.run("trust", "allow")
            program.run("-p", "go", "--output-format", "json")
            sent = [json.dumps(request.json["messages"]) for request in server.requests]
            assert server.problems == []

        counts = [
            [text.count(name) for name in ("NESTED-PKG", "NESTED-DEEP", "NESTED-OTHER")] for text in sent
        ]
        assert counts == ([[0, 0, 0], [1, 1, 0], [1, 1, 0]] if trusted else [[0, 0, 0]] * 3)
