"""`bash(@everyday)` without a box, judged by what is on the disk: nothing outside is touched, whatever a line says.

Every hostile line, and ordinary commands over links that lead out of the workspace, are given to the real tools
with the rule on and nobody there to ask; what the rule lets through really runs, as root and as an ordinary user.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile.site import Site, each_user
from hostile.test_commands import CASES, filled

from wisp.policy.rules import Rules, parse_rule

pytestmark = pytest.mark.slow

RULES = Rules(allow=(parse_rule("bash(@everyday)"),))
AGREED = frozenset({"H117", "H118", "H184", "H187", "H189", "H192", "H193"})
"""The project's own tests, scripts, makefile and installed hooks: what a person who chose the rule agreed to."""
OVER_LINKS = """
mkdir {link}/made
mkdir -p {link}/a/b
mkdir {link}
make -C {link}
make -C{link}
make --directory={link} all
make -f {link}/Makefile
cd {link} && make
cd {link} && mkdir made
cd inner && make -C ../{link}
python3 {link}/x.py
python3 -m pytest {link}
python3 -m pytest --junitxml={link}/report.xml tests
python3 -m pytest --junitxml {link}/report.xml tests
python3 -m unittest discover -s {link}
python3 -m json.tool package.json {link}/made.json
python3 -m compileall {link}
python3 -m py_compile {link}/x.py
python3 -m venv --without-pip {link}/env
python3 -m venv --without-pip {link}
./{link}/x.sh
{link}/x.sh
sh {link}/x.sh
bash ./{link}/x.sh
source {link}/bin/activate
. {link}/bin/activate
chmod +x {link}/x.py
chmod 755 {link}
gcc -o {link}/a.out a.c
gcc a.c -o {link}/a.out
gcc -c a.c -o {link}/a.o
gcc -I{link} -c a.c -o a.o
ar rcs {link}/lib.a a.c
node {link}/x.js
node --test {link}
git mv a.c {link}/a.c
git add {link}/x.py
git diff --no-index a.c {link}/x.py
git init -q && mkdir {link}/made
clang-format -i {link}/x.py
black {link}
ruff check --fix {link}
mypy {link}
ninja -C {link}
cmake -B {link}/build -S .
cmake -B{link}/build -S .
cmake --build {link}
ctest --test-dir {link}
sphinx-build -b html docs {link}/out
cargo test -- {link}/x
npm run build --workspace={link}
npm run build -- {link}/x
jest {link}
eslint --fix {link}
prettier --write {link}
""".strip().splitlines()
PROJECT = {
    "Makefile": "all:\n\t@echo made > made.txt\n",
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"build": "echo built > built.txt"}}',
    "a.c": "int main(void) { return 0; }\n",
    "tests/test_a.py": "def test_it():\n    assert True\n",
    "docs/index.rst": "x\n",
    "inner/README": "x\n",
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(x NONE)\n",
}
OUTSIDE = {
    "x.py": "open('made', 'w')\n",
    "x.js": "require('fs').writeFileSync('made', '')\n",
    "x.sh": "#!/bin/sh\ntouch made\n",
    "bin/activate": "touch made\n",
    "Makefile": "all:\n\ttouch made\n",
    "package.json": '{"name": "y", "version": "1.0.0", "scripts": {"build": "touch made"}}',
    "test_out.py": "open('made', 'w')\n",
}


def laid_out(site: Site) -> None:
    for folder, files in ((site.work, PROJECT), (site.out, OUTSIDE)):
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name.endswith(".sh"):
                path.chmod(0o755)
    (site.work / "away").symlink_to(site.out)
    (site.work / "inner" / "away").symlink_to("../../out")
    (site.work / "through").symlink_to("inner/away")
    (site.work / "gone").symlink_to(site.out / "not-yet")


def seen(folder: Path) -> dict[str, tuple[int, bytes]]:
    found = {}
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(top, name)
            found[str(path.relative_to(folder))] = (
                path.lstat().st_mode,
                path.read_bytes() if path.is_file() else b"",
            )
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_hostile_line_has_no_effect_with_the_rule_on(case: dict[str, str]) -> None:
    """No file appears, unless a person agreed to just that: then it is one that the project itself made."""

    def work(make: Callable[[], Site]) -> None:
        site = make()
        mark = site.work / "pwned"
        site.prepare(filled(case.get("setup", "true"), "pwned"))
        outcome = site.bash("none", "ask", filled(case["command"], "pwned"), rules=RULES)
        if case["id"] not in AGREED:
            assert not mark.exists(), outcome.text
            assert outcome.code in ("denied", "invalid_arguments"), outcome.text

    each_user(work)


@pytest.mark.parametrize("command", OVER_LINKS)
def test_an_ordinary_command_over_a_link_touches_nothing_outside(command: str) -> None:
    def work(make: Callable[[], Site]) -> None:
        for link in ("away", "inner/away", "through", "gone", "through/../away", "inner/../away"):
            site = make()
            laid_out(site)
            before = seen(site.out)
            outcome = site.bash("none", "ask", command.replace("{link}", link), rules=RULES)
            assert seen(site.out) == before, (link, outcome.text)
            assert outcome.code == "denied", (link, outcome.text)

    each_user(work)


def test_the_same_commands_run_where_they_stay_inside() -> None:
    """So that the links are what was refused: without one, most of these run unasked."""

    def work(make: Callable[[], Site]) -> None:
        site = make()
        laid_out(site)
        ran = 0
        for command in OVER_LINKS:
            outcome = site.bash("none", "ask", command.replace("{link}", "inner"), rules=RULES)
            ran += outcome.code != "denied"
        assert ran >= 0.7 * len(OVER_LINKS), ran

    each_user(work)


def test_a_branch_is_changed_and_a_file_is_not_put_back() -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        site.prepare(
            "git init -q && echo a>f && mkdir src && echo a>src/g && git add . && git commit -qm 1 && git branch other"
        )
        (site.work / "f").write_text("mine")
        (site.work / "src" / "g").write_text("mine")
        for command in (
            "git checkout f",
            "git checkout src",
            "git checkout 'f'",
            "git checkout -q f",
            "cd src && git checkout g",
        ):
            outcome = site.bash("none", "ask", command, rules=RULES)
            assert outcome.code == "denied", command
        assert (site.work / "f").read_text() == (site.work / "src" / "g").read_text() == "mine"
        assert site.bash("none", "ask", "git checkout -q other", rules=RULES).code != "denied"

    each_user(work)


def test_an_address_with_a_password_is_not_shown() -> None:
    def work(make: Callable[[], Site]) -> None:
        site = make()
        site.prepare("git init -q && git remote add origin https://example.org/x")
        assert "example.org" in site.bash("none", "ask", "git remote -v", rules=RULES).text
        site.prepare("git remote add other https://me:hunter2@example.org/x")
        for command in ("git remote -v", "git config --get remote.other.url"):
            outcome = site.bash("none", "ask", command, rules=RULES)
            assert outcome.code == "denied" and "hunter2" not in outcome.text

    each_user(work)


def test_the_list_of_what_is_agreed_to_is_not_longer_than_needed() -> None:
    agreed = {case["id"]: case["want"] for case in CASES if case["id"] in AGREED}
    assert set(agreed.values()) == {"contain"} and len(agreed) == len(AGREED)
    assert json.dumps(sorted(AGREED))
