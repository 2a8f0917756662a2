"""What projects' documents tell people to type ends the same way and leaves the same files in the box as outside.

The corpora of `tests/policy`, without what is there to fetch or send.  Run are the commands whose programs are
installed here; programs that the documents name by a place in the project (`./gradlew`, `scripts/test`), and the
scripts they give to an interpreter, are stand-ins of the small project below that write down how they were called.
How many could not be run, and for want of which program, is part of what the test says when it fails.  Every fourth one
in the ordinary run, all of them with WISP_SOAK=1.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from workspace.sandbox.conftest import Boxed
from workspace.sandbox.test_everyday import _tree

SOAK = bool(os.environ.get("WISP_SOAK"))
POLICY = Path(__file__).parents[2] / "policy"
COMMANDS = [
    row["command"]
    for name in ("everyday.jsonl", "everyday_heldout.jsonl", "everyday_unseen.jsonl")
    for row in map(json.loads, (POLICY / name).read_text().splitlines())
    if not row.get("network")
][:: 1 if SOAK else 4]
MOST_DIFFERENT = 0.05
"""Where everything of `PROJECT` is installed; each that is missing takes commands away that are the same."""
KNOWN = re.compile(r"git (remote add|config|init|clean)|.*> ~/|cargo clippy --fix")
"""What the guide says is otherwise inside: a repository's settings, the user's home, stand-ins in the way, and
cargo's own git, which finds no repository there."""
FEWEST_RUN = len(COMMANDS) // 4
BUILT_IN = frozenset(("cd", "export", "source", ".", "hash", "echo", "exit", "ulimit"))
_WORDS = """
git make python python3 node npm cmake ctest pytest py.test mypy ruff codespell ar cat chmod cp find grep ln ls
mkdir rm sort tar wc which xargs bash cargo rustfmt
"""
PROJECT = frozenset(_WORDS.split())
"""Programs that find something to do in the project below."""
STAND_IN = '#!/bin/sh\nprintf "%s\\n" "$0 $*" >> called.txt\ncase "$*" in *fail*) exit 3;; esac\n'
SCRIPTS = {
    ".py": "import sys\nopen('called.txt', 'a').write(' '.join(sys.argv) + '\\n')\n",
    ".js": "require('fs').appendFileSync('called.txt', process.argv.slice(2).join(' ') + '\\n')\n",
    ".cjs": "require('fs').appendFileSync('called.txt', process.argv.slice(2).join(' ') + '\\n')\n",
    ".sh": STAND_IN,
}
FILES = {
    "README.md": "# App\n\nA small app.\n",
    "Makefile": ".PHONY: all\nall:\n\t@echo all $(V) >> built.txt\n%:\n\t@echo $@ $(V) $(CFLAGS) >> built.txt\n",
    "package.json": json.dumps({
        "name": "app",
        "version": "1.0.0",
        "scripts": {
            name: f"echo {name} >> built.txt"
            for name in ("test", "build", "lint", "webpack", "dev", "start", "fix", "docs")
        },
    }),
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(app NONE)\nenable_testing()\nadd_test(NAME yes COMMAND true)\n",
    "tests/test_app.py": "def test_it():\n    assert 1 + 1 == 2\n",
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n[features]\npcre2 = []\nfull = []\nstable = []\n',
    "src/main.rs": "fn main() {\n    println!(\"hi\");\n}\n",
    "src/app.py": "def add(a: int, b: int) -> int:\n    return a + b\n",
    "file1": "1\n", "file2": "2\n", "file3": "3\n", "gtest-all.o": "object\n", "modified_files": "x\n",
    "server.key": "k\n", "server.pem": "p\n", "composer.phar": "phar\n", "tsconfig.tsbuildinfo": "{}\n",
    "contrib/luarc.json": "{}\n", "docs/reference/celery.schedules.rst": "x\n", "celery.schedules.rst": "x\n",
    "build/package/app": "x\n", "conf/a": "", "pkg/a": "", "public/views/a": "", ".gitignore": "*.log\n",
}  # fmt: skip


def programs(command: str) -> list[str]:
    """First words of the parts of a line, assignments aside."""
    found = []
    for part in re.split(r"&&|\|\||[;|]", command):
        try:
            words = shlex.split(part.split(">", 1)[0])
        except ValueError:
            words = part.split()
        words = [word for word in words if not re.match(r"[A-Za-z_]\w*=", word)]
        found += words[:1]
    return found


def stand_ins() -> dict[str, str]:
    """Every program or script that a document names by its place in the project."""
    found: dict[str, str] = {}
    for command in COMMANDS:
        words = re.findall(r"[A-Za-z0-9_./-]+", command)
        for word in words:
            name = word.removeprefix("./")
            ending = Path(name).suffix
            if word.startswith(("/", "..", "-")) or ".." in word:
                continue
            if ending in SCRIPTS and re.search(
                rf"(python3?|node|bash|sh|coverage run) (\./)?{re.escape(name)}", command
            ):
                found[name] = SCRIPTS[ending]
        for word in programs(command):
            if "/" in word and not word.startswith(("/", "..", "~", "$")):
                found[word.removeprefix("./")] = STAND_IN
    return found


def make_project(folder: Path, env: dict[str, str]) -> None:
    for name, text in (*FILES.items(), *stand_ins().items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text == STAND_IN:
            path.chmod(0o755)
    (folder / "cmake-build").mkdir()
    for words in ("init -q", "add -A", "commit -qm first", "branch master", "branch experimental", "tag v0"):
        subprocess.run(["git", *words.split()], cwd=folder, env=env, check=False, capture_output=True)


def tree(folder: Path) -> dict[str, str]:
    """Every entry but git's own, compiled Python, which holds times, and for the same reason what cargo builds."""
    return {entry: "" for entry in _tree(folder) if ".pyc " not in entry and not entry.startswith("target/")}


def fresh(folder: Path, project: Path) -> None:
    """`folder` as a copy of `project`; the folder itself stays, because it is open."""
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    shutil.copytree(project, folder, symlinks=True, dirs_exist_ok=True)


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_documented_commands_do_the_same_inside_and_outside(
    boxed: Boxed, tmp_path: Path, need: Callable[[str], str]
) -> None:
    for program in ("git", "python3", "make"):
        need(program)
    boxed.environment = env = boxed.environment | {
        "PATH": f"{Path(sys.executable).parent}:{boxed.environment['PATH']}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # a plug-in's random seed differs from run to run
    }
    folder, project = boxed.folder, tmp_path / "project"
    project.mkdir()
    make_project(project, env)
    missing: Counter[str] = Counter()
    runnable = []
    for command in COMMANDS:
        wanted = [
            word
            for word in programs(command)
            if word not in BUILT_IN
            and "/" not in word
            and not (word in PROJECT and shutil.which(word, path=env["PATH"]))
        ]
        missing.update(wanted[:1])
        if not wanted:
            runnable.append(command)
    different, good = [], 0
    for command in runnable:
        ends = []
        for inside in (False, True):  # in one folder: builds write down where they were made
            fresh(folder, project)
            if not inside:
                done = subprocess.run(
                    ["timeout", "60", "/bin/bash", "-c", command], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                    capture_output=True, check=False,
                )  # fmt: skip
                ends.append((done.returncode, tree(folder), done.stderr[-300:]))
            else:
                ending, said = boxed(command)
                ends.append((ending.code or 0, tree(folder), said[-300:]))
        good += ends[0][0] == 0
        if ends[0][:2] != ends[1][:2]:
            different.append((command, ends[0][0], ends[1][0], set(ends[0][1]) ^ set(ends[1][1]), ends[1][2]))
    said = (
        f"{len(runnable)} of {len(COMMANDS)} run, {good} with success, {len(different)} differ in the box; not run for want of: "
        f"{', '.join(f'{name} ({count})' for name, count in missing.most_common())}"
    )
    print(said)
    assert len(runnable) >= FEWEST_RUN, said
    assert not [one for one in different if not KNOWN.match(one[0])], (
        said + "\n" + "\n".join(map(repr, different))
    )
    if not SOAK:  # a share is a matter of all of them
        return
    whole = all(shutil.which(program, path=env["PATH"]) for program in PROJECT)
    assert len(different) <= (MOST_DIFFERENT if whole else 0.06) * len(runnable), said
