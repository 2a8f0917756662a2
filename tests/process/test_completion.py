"""`wisp completion`: each script loads in its shell and offers what this version has."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from process.program import Program

from wisp.frontends.cli.args import COMMANDS
from wisp.frontends.cli.mcp import VERBS as MCP

pytestmark = pytest.mark.process


def shell(name: str, text: str, *words: str) -> str:
    if shutil.which(name) is None:
        if os.environ.get("CI"):
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"needs {name}")
    quiet = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[name]
    first = [] if name == "fish" else [name]
    done = subprocess.run(
        [name, quiet, "-c", text, *first, *words], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def script(tmp_path: Path, name: str) -> str:
    done = Program(tmp_path / "home", tmp_path / "work").run("completion", name)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / f"wisp.{name}"
    path.write_text(done.stdout)
    return str(path)


def test_bash_offers_commands_options_and_values(tmp_path: Path) -> None:
    ask = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _wisp; printf "%s\\n" "${COMPREPLY[@]}"'
    path = script(tmp_path, "bash")

    assert shell("bash", ask, path, "wisp", "").split() == list(COMMANDS)
    assert shell("bash", ask, path, "wisp", "--perm").split() == ["--permission-mode"]
    assert shell("bash", ask, path, "wisp", "--permission-mode", "p").split() == ["plan"]
    assert shell("bash", ask, path, "wisp", "completion", "").split() == ["bash", "zsh", "fish"]
    assert shell("bash", ask, path, "wisp", "mcp", "").split() == list(MCP)
    assert shell("bash", ask, path, "wisp", "mcp", "re").split() == ["remove"]
    assert shell("bash", ask, path, "wisp", "sessions", "re").split() == [
        "rename",
        "restore",
        "repair",
        "replay",
    ]


def test_zsh_loads_it(tmp_path: Path) -> None:
    ask = 'autoload -Uz compinit && compinit -u -D && source "$1" && echo ${_comps[wisp]} $+functions[_wisp]'

    assert shell("zsh", ask, script(tmp_path, "zsh")).split() == ["_wisp", "1"]


def test_fish_offers_commands_options_and_values(tmp_path: Path) -> None:
    path = script(tmp_path, "fish")

    def offered(line: str) -> list[str]:
        said = shell("fish", f"source $argv[1]; complete -C '{line}'", path)
        return [row.partition("\t")[0] for row in said.splitlines()]

    assert set(offered("wisp ")) >= set(COMMANDS)
    assert offered("wisp --permission-m") == ["--permission-mode"]
    assert offered("wisp --permission-mode pl") == ["plan"]


@pytest.mark.parametrize("words", [(), ("tcsh",), ("bash", "zsh")])
def test_anything_else_is_a_usage_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = Program(tmp_path / "home", tmp_path / "work").run("completion", *words)

    assert (done.returncode, done.stdout) == (2, "")
