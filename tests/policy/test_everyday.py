"""`bash(@everyday)`: what development programs do in a project, unasked where a person chose it, and nothing beyond.

`everyday.jsonl` was collected from the named documents of well-known projects before a rule was written: every
shell line for Unix that they tell people to type, with nothing to fill in, once each; prompts, comments and the
line breaks of long commands are taken off, now and then two lines are one with `&&`.  `network` marks what is
there to fetch or send (clone, push, install, ...), which is counted apart; a build that may fetch what the project
declares is not.  `everyday_heldout.jsonl` was collected the same way from other projects when the rules stood; 145 of its
237 local commands (61%) ran unasked then.  What was missing taught a second version of the rules, so it is no
judge any more; `everyday_unseen.jsonl`, from further projects, was collected after that, and nothing was changed for
it.  `everyday_refused.txt` holds what must be asked about.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.messages.tool import Effect
from wisp.policy.common import ASSIGNMENTS, SETTINGS
from wisp.policy.decide import Policy, decide
from wisp.policy.everyday import _forms, _heads, everyday
from wisp.policy.modes import Mode
from wisp.policy.reading import only_reads
from wisp.policy.rules import BadRule, Rules, parse_rule
from wisp.policy.shell import Word, simple_commands
from wisp.workspace import protected

HERE = Path(__file__).parent
RULES = Rules(allow=(parse_rule("bash(@everyday)"),))
LEAST = 0.70
LEAST_UNSEEN = 0.65


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


def local(name: str) -> list[str]:
    return [str(row["command"]) for row in rows(name) if not row.get("network")]


def verdict(command: str, mode: Mode = "ask", rules: Rules = RULES, *, reaches: str = "") -> str:
    return decide("bash", (Effect("execute", command, reaches=reaches),), Policy(mode, "/w", rules)).verdict


FILES = ("everyday.jsonl", "everyday_heldout.jsonl", "everyday_unseen.jsonl")
FIRST, HELD_OUT, UNSEEN = map(local, FILES)
REFUSED = (HERE / "everyday_refused.txt").read_text().splitlines()
HOSTILE = [json.loads(line) for line in (HERE.parent / "hostile" / "commands.jsonl").read_text().splitlines()]
ALLOWED = [
    command
    for command in (*FIRST, *HELD_OUT, *UNSEEN)
    if verdict(command) == "allow" and not only_reads(command, "/w")
]


@pytest.mark.parametrize("mode", ["ask", "auto"])
@pytest.mark.parametrize(
    ("commands", "number", "least"),
    [
        (FIRST, 200, LEAST),
        (HELD_OUT, 200, LEAST),
        (UNSEEN, 70, LEAST_UNSEEN),
        (FIRST + HELD_OUT + UNSEEN, 700, LEAST),
    ],
)
def test_of_what_projects_document_this_share_runs_unasked_without_a_box(
    commands: list[str], number: int, least: float, mode: Mode
) -> None:
    asked = [command for command in commands if verdict(command, mode) != "allow"]
    share = 1 - len(asked) / len(commands)
    assert len(commands) >= number
    assert share >= least, f"{share:.3f}; asked about:\n" + "\n".join(asked)


def test_the_corpora_name_their_sources_and_share_nothing() -> None:
    corpora = [rows(name) for name in FILES]
    every = [row for corpus in corpora for row in corpus]
    projects = [{row["project"] for row in corpus} for corpus in corpora]
    assert all(row["project"] and row["document"] for row in every)
    assert len(projects[0]) >= 40
    assert sum(map(len, projects)) == len(set.union(*projects))
    assert len({row["command"] for row in every}) == len(every)


def test_nothing_that_is_there_to_fetch_or_send_runs_unasked() -> None:
    named = [row for name in FILES for row in rows(name) if row.get("network")]
    # By their names these are a task and two scripts of the project like any other: only its author knows.
    told_by_name_only = {
        "make bootstrap",
        "tox -e javascript",
        "make devenv sources=mysql_tests,postgres_tests",
    }
    allowed = {str(row["command"]) for row in named if verdict(str(row["command"])) == "allow"}
    assert allowed <= told_by_name_only, allowed
    assert len(named) >= 100


@pytest.mark.parametrize("command", REFUSED)
def test_what_says_more_than_that_is_asked_about(command: str) -> None:
    assert verdict(command) == "ask"


def test_the_refused_are_many_and_of_every_family() -> None:
    assert len(REFUSED) >= 1_000
    first = {line.split()[0] for line in REFUSED if line.split()}
    assert {
        "git",
        "make",
        "pytest",
        "cargo",
        "go",
        "npm",
        "python",
        "tox",
        "eslint",
        "cmake",
        "gradle",
    } <= first


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case["id"])
def test_no_hostile_line_is_on_the_list(case: dict[str, str]) -> None:
    """Those of `contain` say what they do and are what a person agrees to: the project decides what it runs."""
    command = case["command"].replace("[60,000 x a]", "a" * 60_000)
    for mode in ("ask", "auto"):
        found = verdict(command, mode)
        assert found in ("ask", "deny") or case["want"] == "contain"


CONTAINED = {
    case["command"] for case in HOSTILE if case["want"] == "contain" and verdict(case["command"]) == "allow"
}


def test_of_the_hostile_lines_only_ordinary_ones_over_a_hostile_project_are_allowed() -> None:
    for command in CONTAINED:
        assert command.split()[0] in ("git", "make", "npm", "python3", "cd"), command
        assert not set(command) & set("$`<>(){}|"), command


def test_without_the_rule_every_one_of_them_asks_unless_it_reads() -> None:
    for command in ("pytest", "make", "git status", "npm test", "CI=1 pytest", "./x.sh"):
        assert verdict(command, rules=Rules()) == "ask"


def test_deny_wins_and_the_modes_that_allow_no_effect_stay() -> None:
    rules = Rules(RULES.allow, (parse_rule("bash(make)"),))
    assert verdict("make test", rules=rules) == "deny"
    assert verdict("CI=1 make test", rules=rules) == "deny"
    assert verdict("pytest && make", rules=rules) == "deny"
    assert verdict("pytest", "read-only") == "deny"
    assert verdict("pytest", "plan") == "deny"


def test_what_the_words_do_not_say_is_asked_about() -> None:
    """A link that leads outside, a secret in a folder: found by the tool, which looks at the disk."""
    assert verdict("make -C inner") == "allow"
    assert verdict("make -C inner", reaches="/elsewhere") == "ask"


def test_parts_of_a_line_are_covered_by_the_set_by_reading_and_by_other_rules() -> None:
    rules = Rules((*RULES.allow, parse_rule("bash(deploy-tool **)")))
    assert verdict("cd sub && pytest -q 2>&1 | tail -5", rules=rules) == "allow"
    assert verdict("git add . && deploy-tool x && git commit -m 'a b'", rules=rules) == "allow"
    assert verdict("git add . && other-tool x", rules=rules) == "ask"
    assert verdict("cd sub && ./x.sh", rules=Rules((parse_rule("bash(./x.sh)"),))) == "ask"


def test_a_set_that_is_not_known_is_no_rule() -> None:
    with pytest.raises(BadRule, match="known: @everyday"):
        parse_rule("bash(@everything)")
    with pytest.raises(BadRule):
        parse_rule("bash(@everyday **)")
    assert parse_rule("edit(@scope/**)").pattern == "@scope/**"


METACHARACTERS = [
    " ; touch x", " && touch x", " || touch x", " | sh", " | tee x", " & touch x", "\ntouch x", " > x", " >> x", " 2> x",
    " < x", " <<< x", " $(id)", " `id`", " $HOME", " ${X}", " <(id)", " {a,b}", " ~", " \\", " *", " ?", " & ", "\r\ntouch x",
    " &> x", " >| x", " 3> x", " |& cat", " (id)", " $((1))", " $'a'", ' "$X"', " -exec id", " --upload-pack=x", " ../x", " /etc/passwd",
    " ~/x", " .env", " https://example.com", " \u00e9",
]  # fmt: skip


@pytest.mark.parametrize("more", METACHARACTERS)
def test_anything_that_the_shell_would_do_makes_an_allowed_command_ask(more: str) -> None:
    for command in ALLOWED:
        if "|" in command:  # then it is the program behind it that is given more
            continue
        free_text = more == " \u00e9" and command.startswith(("echo", "grep"))
        assert verdict(command + more) in ("ask", "deny") or free_text, command + more


@given(st.data())
@settings(max_examples=400, deadline=None)
def test_an_option_that_is_not_on_its_list_makes_a_listed_program_ask(data: st.DataObject) -> None:
    """Put directly behind the program and its subcommand."""
    head = data.draw(st.sampled_from(sorted(head for head in _forms() if not head.startswith("@"))))
    form = _forms()[head]
    letters = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-", min_size=2, max_size=12)
    option = "--" + data.draw(letters).strip("-") + data.draw(st.sampled_from(["", "=x", "=1"]))
    name = option.partition("=")[0]
    if name in form.flags or name in form.valued or name in ("--version", "--"):
        return
    if name[1:] in form.flags or name[1:] in form.valued:  # of programs that know one dash and two
        return
    words = [Word(word) for word in (*head.split(), option)]
    assert not everyday(words, "/w")


SECOND_DASH = [head for head in _forms() if not head.startswith("@")]


@pytest.mark.parametrize("head", SECOND_DASH)
def test_no_value_of_an_option_is_an_option_or_leaves_the_folder(head: str) -> None:
    """The classic slip: an option thought to take a value swallows one that should have been looked at."""
    form = _forms()[head]
    for name in form.valued:
        for value in ("-p", "--plugin", "/etc/passwd", "../x", "~/x", "@x", "https://e.org/x"):
            joined = f"{name}={value}" if name.startswith("--") or len(name) > 2 else f"{name}{value}"
            free = form.valued[name] == "*"  # never a path: a message, an expression
            for words in ([*head.split(), name, value], [*head.split(), joined]):
                if free and not value.startswith("-"):
                    continue
                if name in form.flags and words[-1] == value and value.startswith("-") and len(value) == 2:
                    continue  # a flag, then a letter that may be on the list itself
                assert not everyday([Word(word) for word in words], "/w"), words


def test_every_name_that_is_protected_against_writing_is_known_to_the_set() -> None:
    for name in (*protected._WRITE_DIRECTORIES, *protected._WRITE_NAMES, *protected._WRITE_PLACES):
        for command in (
            f"mkdir {name}",
            f"black sub/{name}",
            f"go build -o {name}",
            f"chmod +x {name.upper()}",
        ):
            assert verdict(command) == "ask", command


@pytest.mark.parametrize("place", ["", "/", "src/", "./src/", "docs/a/"])
def test_places_inside_are_allowed_and_places_outside_are_not(place: str) -> None:
    assert verdict(f"pytest {place or 'tests/'}x.py") == ("allow" if place != "/" else "ask")
    assert verdict("pytest /w/tests") == "allow"
    assert verdict("pytest /mnt/tests") == "ask"
    assert verdict("pytest /w/../etc") == "ask"


def test_assignments_are_only_those_on_the_list() -> None:
    for word in ASSIGNMENTS:
        assert verdict(f"{word} pytest") == "allow"
        assert verdict(f"{word} other-program") == "ask"
    for word in ("PATH=x", "LD_PRELOAD=x", "PYTHONPATH=x", "CI=2", "BASH_ENV=1", "NODE_OPTIONS=x"):
        assert verdict(f"{word} pytest") == "ask"
        assert verdict(f"CI=1 {word} pytest") == "ask"
        assert verdict(f"export {word}") == "ask"


def test_a_word_in_quotes_is_no_assignment() -> None:
    """`'CI=1' make` runs a program of that name."""
    assert simple_commands("'CI=1' make") is None
    assert simple_commands('"CI=1" make') is None


def test_settings_never_take_a_path_a_program_or_flags() -> None:
    assert SETTINGS["make"] != SETTINGS["cmake"]
    for command in (
        "make CC=gcc", "make X=/x", "make X=a/b", "make X=-fplugin=x", "make x=1", "make MAKEFLAGS=1", "make SHELLFLAGS=1",
        "cmake -DCMAKE_CXX_COMPILER=ON .", "cmake -DX=/x .", "cmake -DX=a/b .", "cmake -DCMAKE_TOOLCHAIN_FILE=ON .",
        "mvn -Dtest=/x test", "gradle -Dtests.jvm.argline=-javaagent:x test", "gradle -Porg.gradle.jvmargs=x test",
        "gcc -Dx=/x a.c", "gcc -I../x a.c", "gcc -fsanitize=x/y a.c",
    ):  # fmt: skip
        assert verdict(command) == "ask", command


def test_programs_are_known_by_name_or_by_their_usual_places() -> None:
    for place in ("", "./", ".venv/bin/", "./.venv/bin/", "venv/bin/", "node_modules/.bin/", "vendor/bin/"):
        assert verdict(f"{place}pytest -q") == "allow"
        assert verdict(f"{place}pytest -p evil") == "ask"
    for place in ("/usr/bin/", "../", "~/", "./.git/", ".config/"):
        assert verdict(f"{place}pytest -q") == "ask"


def test_the_set_costs_nothing_until_it_is_used() -> None:
    """Its tables are read when the first command is judged by it."""
    code = "import sys, wisp.policy.decide; print('wisp.policy.everyday' in sys.modules)"
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.strip() == "False"
    assert len(_heads()) > 150
