"""Skills and commands from outside: where they are found, whose are read, what the model gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from process.program import Program, result_of
from process.server import ServerThread

pytestmark = pytest.mark.process


def _skill(folder: Path, name: str, body: str = "Body.", description: str = "Does a thing.") -> Path:
    place = folder / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return place


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path / "home", tmp_path / "work")


def _names(program: Program, *args: str) -> dict[str, str]:
    rows = [json.loads(line) for line in program.run("skills", "list", "--json", *args).stdout.splitlines()]
    return {row["name"]: row["source"] for row in rows}


def test_every_folder_is_looked_into_and_the_projects_only_when_trusted(program: Program) -> None:
    """Three folders of the project, three of the user, commands of both, and what comes with wisp."""
    for below in (".agents/skills", ".wisp/skills", ".claude/skills"):
        _skill(program.project / below, "p-" + below[1:3])
    for base in (
        program.home / "config" / "skills",
        program.home / ".agents/skills",
        program.home / ".claude/skills",
    ):
        _skill(base, "u-" + base.parent.name.strip("."))
    (program.project / ".wisp" / "commands" / "video").mkdir(parents=True)
    (program.project / ".wisp" / "commands" / "video" / "qa.md").write_text("Check $1")
    (program.home / "config" / "commands").mkdir()
    (program.home / "config" / "commands" / "mine.md").write_text("Mine")
    user = {"u-config", "u-agents", "u-claude", "mine"}
    bundled = {"init", "review", "commit", "pr", "wisp-development"}

    assert set(_names(program)) == user | bundled
    program.run("trust", "allow")
    assert set(_names(program)) == user | bundled | {"p-ag", "p-wi", "p-cl", "video:qa"}


def test_the_nearer_skill_wins_a_name_and_the_other_is_named(program: Program) -> None:
    """Project before user before bundled."""
    _skill(program.project / ".agents/skills", "review")
    _skill(program.home / ".agents/skills", "review")
    program.run("trust", "allow")
    done = program.run("skills", "list", "--json")

    assert _names(program)["review"] == ".agents/skills/review/SKILL.md"
    assert "hidden by .agents/skills/review/SKILL.md" in done.stderr


def test_a_broken_skill_costs_itself_alone(program: Program) -> None:
    """It is named with the reason; the others are there."""
    _skill(program.home / ".agents/skills", "good")
    broken = program.home / ".agents/skills/broken"
    broken.mkdir()
    (broken / "SKILL.md").write_text("---\nname: broken\n---\n")
    done = program.run("skills", "list", "--json")

    assert "good" in _names(program)
    assert "broken" in done.stderr
    assert "description" in done.stderr


def test_a_link_in_a_project_leads_to_no_skill_outside(program: Program, tmp_path: Path) -> None:
    """Neither a linked folder nor a linked file."""
    outside = _skill(tmp_path / "outside", "stolen")
    base = program.project / ".agents" / "skills"
    (base / "linked").mkdir(parents=True)
    (base / "stolen").symlink_to(outside)
    (base / "linked" / "SKILL.md").symlink_to(outside / "SKILL.md")
    program.run("trust", "allow")

    assert not {"stolen", "linked"} & set(_names(program))


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("---\nname: good\ndescription: d\n---\n", 0, "valid"),
        ("---\nname: Other\n---\n", 1, "description"),
        ("---\nname: Other\n---\n", 1, "lowercase"),
        ("no", 1, "---"),
    ],
)
def test_validate_says_each_fault(program: Program, text: str, code: int, named: str) -> None:
    """0 for a good skill, 1 with every fault for another; the file itself may be named too."""
    folder = program.project / "good"
    folder.mkdir()
    (folder / "SKILL.md").write_text(text)
    for path in ("good", "good/SKILL.md"):
        done = program.run("skills", "validate", path)

        assert done.returncode == code
        assert named in done.stdout + done.stderr


@pytest.mark.parametrize("path", ["nothing", "."])
def test_validate_of_what_is_no_skill_is_1(program: Program, path: str) -> None:
    """A path that is not there, a folder without the file."""
    done = program.run("skills", "validate", path)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def _served(tmp_path: Path, steps: list[dict[str, Any]]) -> tuple[Program, ServerThread]:
    server = ServerThread(steps)
    server.__enter__()
    return Program(tmp_path / "home", tmp_path / "work", url=server.base_url("openai-chat")), server


def test_the_model_sees_the_catalogue_then_the_body_then_a_resource(tmp_path: Path) -> None:
    """Nothing of the body before it is asked for; nothing outside the folder at all."""
    calls = [
        {"name": "skill", "arguments": {"name": "forms"}},
        {"name": "skill", "arguments": {"name": "forms", "resource": "ref/table.txt"}},
        {"name": "skill", "arguments": {"name": "forms", "resource": "../../../secret.txt"}},
        {"name": "skill", "arguments": {"name": "nothing"}},
    ]
    program, server = _served(tmp_path, [{"text": "", "calls": calls}, {"text": "done"}])
    with _closing(server):
        place = _skill(
            program.project / ".agents/skills", "forms", "BODY-OF-FORMS", "Fills forms when asked."
        )
        (place / "ref").mkdir()
        (place / "ref" / "table.txt").write_text("ROW-ONE\n")
        (program.project / "secret.txt").write_text("SECRET\n")
        program.run("trust", "allow")
        done = program.run("-p", "go", "--output-format", "json")
        first, second = (json.dumps(request.json) for request in server.requests)

    assert result_of(done)["subtype"] == "success"
    assert "- forms: Fills forms when asked." in first
    assert "BODY-OF-FORMS" not in first
    results = [m["content"] for m in server.requests[1].json["messages"] if m["role"] == "tool"]
    assert "BODY-OF-FORMS" in results[0] and "ref/table.txt" in results[0]
    assert results[1].strip() == "ROW-ONE"
    assert "SECRET" not in second
    assert "the skills are: forms" in results[3]


class _closing:
    def __init__(self, server: ServerThread) -> None:
        self._server = server

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        self._server.__exit__(*exc)


def test_a_command_is_filled_in_once_and_its_shell_is_judged_like_a_call(tmp_path: Path) -> None:
    """What only reads runs; what writes is refused headless, and the model is told so."""
    program, server = _served(tmp_path, [{"text": "ok"}])
    with _closing(server):
        folder = program.home / "config" / "commands"
        folder.mkdir()
        (folder / "look.md").write_text("Files: !`ls $1`\nWrite: !`touch pwned; echo x > y`\nAll: $ARGUMENTS")
        (program.project / "sub").mkdir()
        (program.project / "sub" / "hello.txt").write_text("")
        done = program.run("-p", "/look sub '$(touch pwned2)' !`id`", "--output-format", "json")
        said = server.requests[0].json["messages"][-1]["content"]

    assert result_of(done)["subtype"] == "success"
    assert "hello.txt" in str(said)
    assert "denied" in str(said)
    assert "All: sub '$(touch pwned2)' !`id`" in str(said)
    assert sorted(p.name for p in program.project.iterdir()) == ["sub"]


def test_a_path_is_no_command(tmp_path: Path) -> None:
    """`/etc/hosts is odd` is a message, not an unknown command."""
    program, server = _served(tmp_path, [{"text": "ok"}])
    with _closing(server):
        program.run("-p", "/etc/hosts is odd")
        said = server.requests[0].json["messages"][-1]["content"]

    assert "/etc/hosts is odd" in str(said)


def test_the_commit_command_names_the_attribution_that_is_set(tmp_path: Path) -> None:
    """And none where there is none."""
    program, server = _served(tmp_path, [{"text": "ok"}, {"text": "ok"}])
    with _closing(server):
        program.run("-p", "/commit")
        program.run("-p", "/commit", WISP_ATTRIBUTION="Made-with: tea")
        first, second = (str(request.json["messages"][-1]["content"]) for request in server.requests)

    assert "Assisted-by: Wisp" in first
    assert "Made-with: tea" in second
