"""No allow rule approves a command that a person should see, and a deny rule is not lost in a wrapper."""

import json
from pathlib import Path

import pytest

from wisp.messages.tool import Effect
from wisp.policy.command import allowed_by, denied_by, plain_words
from wisp.policy.decide import Policy, decide
from wisp.policy.rules import Rules, parse_rule

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "hostile" / "commands.jsonl").read_text().splitlines()
    if json.loads(line)["want"] != "contain"  # those a person may allow: the project decides what they run
]
RULES = (
    "bash(git status)",
    "bash(ls **)",
    "bash(cat **)",
    "bash(echo **)",
    "bash(npm **)",
    "bash(git **)",
    "bash(**)",
    "bash(* **)",
    "bash(@everyday)",
)


def expanded(text: str) -> str:
    return text.replace("[60,000 x a]", "a" * 60_000)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_hostile_command_is_never_allowed_by_a_rule(case: dict[str, str]) -> None:
    command = expanded(case["command"])
    first = command.split()[0] if command.split() else "x"
    rules = [parse_rule(text) for text in RULES]
    rules += [parse_rule(f"bash({first} **)"), parse_rule(f"bash({first} *)")]
    policy = Policy("ask", "/w", Rules(allow=tuple(rules)))
    verdict = decide("bash", (Effect("execute", command),), policy).verdict
    assert verdict in ("ask", "deny"), command[:200]


@pytest.mark.parametrize(
    "command",
    [
        "env -i git push",
        "xargs -I{} git push",
        "sudo -E git push",
        "bash -c 'git push'",
        "\\git push",
        "/usr/bin/git push",
        'g""it push',
        "git push",
        "git  push origin main",
        "true; git push",
        "true && git push --force",
        "$(git push)",
        "`git push`",
        "git \\\npush",
        "git --no-pager push",
        "git -C /w push",
        "git -c a=b push",
        "$'git' push",
        "(git push)",
        "if true; then git push; fi",
    ],
)
@pytest.mark.parametrize("rule", ["git push", "git push **"])
def test_deny_rule_finds_the_program_behind_quotes_paths_and_wrappers(rule: str, command: str) -> None:
    assert denied_by(rule, command)


@pytest.mark.parametrize(
    "command", ["git status", "git stash push-x", "git pushx", "echo push", "git commit -m pushed", "gitpush"]
)
def test_deny_rule_leaves_other_commands_alone(command: str) -> None:
    assert not denied_by("git push", command)


def test_deny_rule_of_one_program_covers_all_its_uses() -> None:
    assert denied_by("rm", "ls && rm -rf x")
    assert denied_by("rm **", "rm")
    assert not denied_by("rm", "npm run build")


@pytest.mark.parametrize(
    ("rule", "command", "allowed"),
    [
        ("git status", "git status", True),
        ("git status", " git status ", True),
        ("git status", "git status -s", False),
        ("git status", "git statu", False),
        ("pytest **", "pytest", True),
        ("pytest **", "pytest tests/a.py -x --tb=short", True),
        ("pytest **", "pytest tests/a.py; rm x", False),
        ("pytest *", "pytest a", True),
        ("pytest *", "pytest", False),
        ("pytest *", "pytest a b", False),
        ("git log **", "git log --oneline -5", True),
        ("git log **", "git log --output=x", False),
        ("git log **", "git log --outp=x", False),
        ("git **", "git commit -m fix", True),
        ("git **", "git config core.fsmonitor ./p", False),
        ("git **", "git remote add x ext::sh", False),
        ("git **", "git unknown-alias", False),
        ("git config **", "git config user.name", True),
        ("npm **", "npm test", True),
        ("ls **", "ls -la src", True),
        ("ls **", "X=1 ls", False),
        ("ls **", "/tmp/evil/ls", False),
        ("python3 -m pytest", "python3 -m pytest", True),
        ("python3 **", "python3 -m pytest", False),
        ("python3.12 **", "python3.12 x.py", False),
        ("rg **", "rg foo src", True),
        ("rg **", "rg --pre x foo", False),
        ("sort **", "sort -o out in", False),
        ("uniq **", "uniq a b", False),
        ("make **", "make test", True),
        ("make test **", "make test SHELL=./p", False),
        ("npm test **", "npm test --script-shell=./p", False),
        ("cargo **", "cargo test --config build.rustc=./p", False),
        ("cargo **", "cargo test -p name", True),
        ("go **", "go test -exec ./p", False),
        ("go **", "go vet --vettool=./p", False),
        ("go **", "go test -run Name ./x", True),
        ("uniq **", "uniq - b", False),
        ("uniq **", "uniq a -- -b", False),
        ("split **", "split --filter=./p a", False),
        ("xxd **", "xxd a b", False),
        ("install **", "install -s --strip-program=./p a b", False),
        ("shuf **", "shuf a -oout", False),
        ("shuf **", "shuf a", True),
        ("iconv **", "iconv --out=b a", False),
        ("sdiff **", "sdiff -o out a b", False),
        ("git diff **", "git diff --no-index a b", False),
        ("git diff **", "git diff /etc/passwd /dev/null", False),
        ("git diff **", "git diff ../a b", False),
        ("git diff **", "git diff main..other src/a.py", True),
        ("git blame **", "git blame --contents=x a", False),
    ],
)
def test_allow_rule_covers_plain_words_only(rule: str, command: str, allowed: bool) -> None:
    assert allowed_by(rule, command) is allowed


def test_a_command_too_long_to_read_is_not_allowed_by_a_rule() -> None:
    assert not allowed_by("echo **", "echo " + "a " * 30_000)


def test_what_is_not_plain_has_no_words() -> None:
    for text in (
        "",
        " ",
        "a;b",
        "a\nb",
        "a\tb",
        "a 'b'",
        "a $b",
        "a *",
        "a ~",
        "é",
        "a\x00",
        "a #b",
        "A=b c",
    ):
        assert plain_words(text) is None, text


def test_a_long_line_is_judged_quickly() -> None:
    line = "word " * 60_000
    assert not denied_by("git push", line)
