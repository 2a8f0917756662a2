"""`wisp config`: one setting changed, everything else in the file as it was."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import jsonschema
import pytest
from process.program import Program

pytestmark = pytest.mark.process

MINE = """\
# my settings
model = "local/test-model"   # the small one

[providers.local]
api = "openai-chat"
base_url = "http://127.0.0.1:9"
api_key_env = "LOCAL_KEY"
[providers.local.models.test-model]
context_window = 200000
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path / "home", tmp_path / "project")
    (program.home / "config" / "settings.toml").write_text(MINE)
    return program


def settings(program: Program) -> str:
    return (program.home / "config" / "settings.toml").read_text()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("model", "openai/gpt-5", "openai/gpt-5"),
        ("max_turns", "7", 7),
        ("max_cost", "0.5", 0.5),
        ("tools", '["read", "grep"]', ["read", "grep"]),
        ("permissions.allow", '["bash(git status)"]', ["bash(git status)"]),
        ("providers.local.base_url", "http://127.0.0.1:8", "http://127.0.0.1:8"),
        ("providers.other.base_url", "http://127.0.0.1:7", "http://127.0.0.1:7"),
        ("append_system_prompt", "12", "12"),
    ],
)
def test_a_setting_is_changed_and_all_else_stays(
    program: Program, key: str, value: str, expected: object
) -> None:
    done = program.run("config", "set", key, value)
    new = tomllib.loads(settings(program))
    found: object = new
    for part in key.split("."):
        assert isinstance(found, dict)
        found = found[part]

    assert done.returncode == 0, done.stderr
    assert found == expected
    assert "# my settings\n" in settings(program)
    assert "# the small one" in settings(program) or key == "model"
    old = tomllib.loads(MINE)
    for name in old.keys() - {key.split(".")[0]}:
        assert new[name] == old[name]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no_such_setting", "1"), "there is no setting"),
        (("max_turns", "many"), "max_turns"),
        (("permission_mode", "yolo"), "permission_mode"),
        (("a..b", "1"), "no name of a setting"),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_file_stays(
    program: Program, words: tuple[str, str], said: str
) -> None:
    done = program.run("config", "set", *words)

    assert done.returncode == 2
    assert said in done.stderr
    assert settings(program) == MINE


def test_a_setting_is_taken_out_again(program: Program) -> None:
    program.run("config", "set", "max_turns", "7")
    done = program.run("config", "unset", "max_turns")

    assert done.returncode == 0
    assert tomllib.loads(settings(program)) == tomllib.loads(MINE)
    assert program.run("config", "unset", "max_turns").returncode == 2


def test_a_broken_file_is_named_and_left_alone(program: Program) -> None:
    (program.home / "config" / "settings.toml").write_text("model = \n")
    done = program.run("config", "set", "max_turns", "7")

    assert done.returncode == 3
    assert "line 1" in done.stderr
    assert settings(program) == "model = \n"


def test_a_link_to_the_settings_stays_a_link(program: Program, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(MINE)
    real.chmod(0o640)
    link = program.home / "config" / "settings.toml"
    link.unlink()
    link.symlink_to(real)
    program.run("config", "set", "max_turns", "7")

    assert link.is_symlink()
    assert tomllib.loads(real.read_text())["max_turns"] == 7
    assert real.stat().st_mode & 0o777 == 0o640


def test_the_schema_accepts_the_file(program: Program) -> None:
    schema = json.loads(program.run("config", "schema").stdout)

    jsonschema.validate(tomllib.loads(MINE), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"max_turns": "many"}, schema)


def test_the_editor_gets_the_file_and_mistakes_are_told(program: Program, tmp_path: Path) -> None:
    editor = tmp_path / "my editor"
    editor.write_text('#!/bin/sh\nprintf "max_turns = \\"x\\"\\n" > "$2"\n')
    editor.chmod(0o755)
    program.env["VISUAL"] = f"'{editor}' --wait"
    done = program.run("config", "edit")

    assert done.returncode == 3
    assert "max_turns" in done.stderr
    assert os.path.exists(program.home / "config" / "settings.toml")


@pytest.mark.parametrize(
    "words", [("config", "show"), ("models",), ("permissions", "list"), ("hooks",), ("skills", "list")]
)
def test_what_shows_settings_says_which_of_them_do_not_count(tmp_path: Path, words: tuple[str, ...]) -> None:
    """A list that silently leaves out what the person wrote would be believed."""
    program = Program(tmp_path / "home", tmp_path / "work", api="")
    file = tmp_path / "home" / "config" / "settings.toml"
    file.write_text('effort = "high"\nmax_turns = "many"\n')
    done = program.run(*words)
    assert f"{file}, line 2: max_turns:" in done.stderr
    file.write_bytes('model = "a/b"\n'.encode("utf-16"))
    done = program.run(*words)
    assert f"{file}, line 1: it is not UTF-8" in done.stderr


def test_a_rule_that_is_none_ends_everything_that_would_rely_on_the_rules(tmp_path: Path) -> None:
    """A deny rule that silently did not count would be worse than no run."""
    program = Program(tmp_path / "home", tmp_path / "work")
    file = tmp_path / "home" / "config" / "settings.toml"
    file.write_text(file.read_text() + '[permissions]\ndeny = ["bash(rm *"]\n')
    for words in (("permissions", "list"), ("permissions", "why", "rm x"), ("-p", "hi")):
        done = program.run(*words)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith(f"wisp: {file}: permissions: 'bash(rm *' is not a rule")
    assert program.run("doctor").returncode == 3
    file.write_text(file.read_text().partition("[permissions]")[0])
    assert program.run("-p", "hi", "--deny", "bash(rm *").returncode == 2


def test_a_corpus_is_judged_line_by_line_and_what_is_not_as_expected_fails(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    path = program.home / "config" / "settings.toml"
    path.write_text(
        path.read_text() + '[permissions]\nallow = ["bash(make test)"]\ndeny = ["bash(git push)"]\n'
    )
    rows = [
        "# ours",
        "",
        "allow\tmake test",
        "ask\tmake test; rm x",
        "deny\tgit push",
        "ls",
        "allow\tls -la\t",
    ]
    corpus = program.project / "corpus"
    corpus.write_bytes("\n".join(rows).encode() + b"\ndeny\tcat caf\xe9\x1b]0;x\x07\n")
    good = program.run("permissions", "test", "corpus")
    corpus.write_text("allow\trm -rf x\nask\tmake\n")
    bad = program.run("permissions", "test", "corpus")

    assert (good.returncode, good.stdout.splitlines()[-1]) == (0, "6 commands, 0 not as expected"), (
        good.stdout
    )
    assert [line.split()[0] for line in good.stdout.splitlines()[:3]] == ["allow", "ask", "deny"]
    assert "\x1b" not in good.stdout and "Traceback" not in good.stderr
    assert (bad.returncode, bad.stdout.splitlines()[-1]) == (1, "2 commands, 1 not as expected")
    assert "rm -rf x" in bad.stdout.splitlines()[0] and "(expected allow)" in bad.stdout.splitlines()[0]


def test_a_corpus_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    done = Program(tmp_path / "home", tmp_path / "work").run("permissions", "test", "none.txt")
    assert (done.returncode, done.stderr) == (2, "wisp: none.txt: No such file or directory\n")


def test_everyday_commands_are_allowed_by_name_listed_explained_and_tried(tmp_path: Path) -> None:
    """From a person's own settings; what the disk adds to a line is part of the verdict."""
    program = Program(tmp_path / "home", tmp_path / "work")
    file = tmp_path / "home" / "config" / "settings.toml"
    assert program.run("permissions", "why", "make test").returncode == 1
    file.write_text(file.read_text() + '[permissions]\nallow = ["bash(@everyday)"]\n')
    (program.project / "away").symlink_to(tmp_path)
    (program.project / "corpus").write_text("allow\tmake -C sub\nask\tgit push\nask\tmake -C away\n")

    assert "its build, tests and scripts are run" in program.run("permissions", "list").stdout
    why = program.run("permissions", "why", "cd docs && make html")
    assert (why.returncode, "bash(@everyday)" in why.stdout) == (0, True)
    assert program.run("permissions", "why", "make install").returncode == 1
    assert "which its words do not say" in program.run("permissions", "why", "mkdir away/x").stdout
    tried = program.run("permissions", "test", "corpus")
    assert (tried.returncode, tried.stdout.splitlines()[-1]) == (0, "3 commands, 0 not as expected")


def test_a_project_cannot_allow_everyday_commands_by_itself(tmp_path: Path) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    folder = program.project / ".wisp"
    folder.mkdir()
    (folder / "settings.toml").write_text('[permissions]\nallow = ["bash(@everyday)"]\n')
    assert program.run("permissions", "why", "make test").returncode == 1
    assert "@everyday" in program.run("trust", "allow").stdout
    assert program.run("permissions", "why", "make test").returncode == 0


@pytest.mark.parametrize(
    ("rule", "said"),
    [('allow = ["bash(@all)"]', "known: @everyday"), ('deny = ["bash(@everyday)"]', "can only be allowed")],
)
def test_a_set_of_rules_is_known_and_is_not_denied(tmp_path: Path, rule: str, said: str) -> None:
    program = Program(tmp_path / "home", tmp_path / "work")
    file = tmp_path / "home" / "config" / "settings.toml"
    file.write_text(file.read_text() + f"[permissions]\n{rule}\n")
    done = program.run("permissions", "list")
    assert (done.returncode, said in done.stderr) == (3, True)
