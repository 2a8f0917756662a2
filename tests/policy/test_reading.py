"""Commands that only read run unasked; anything not fully understood does not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wisp.messages.tool import Effect
from wisp.policy.decide import Policy, decide
from wisp.policy.modes import Mode
from wisp.policy.reading import only_reads
from wisp.policy.rules import Rules, parse_rule
from wisp.policy.shell import simple_commands
from wisp.policy.unshowable import unshowable

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "hostile" / "commands.jsonl").read_text().splitlines()
]

READING = """\
ls
ls -la src
ls src/*.py
cat README.md
cat src/app.py | head -40
head -n 20 a.txt
tail -n 5 log.txt
grep -rn "def add" src
grep -c TODO a.py 2>/dev/null
rg --files -g 'src/**'
rg -n foo src | head -5
find . -name '*.py' -not -path './build/*'
find . -type f -name "*.ts" | wc -l
wc -l a.py b.py
sed -n '1,20p' a.py
sort a.txt | uniq -c | sort -rn
cut -d, -f1 a.csv
diff -u a b
tree -L 2
du -sh src
stat a.py
file a.bin
pwd
cd src && ls
echo "hello world"
test -f a.txt && echo yes || echo no
which python3
python3 --version
git --version
date
uname -a
sha256sum a.txt
jq .name package.json
grep -e -x -n a.py
grep -A 3 -- -x a.py
rg --glob '*.py' foo -- src
sort -t , -k 2 a.csv
node -v
printf '%s: 100%%\\n' x
uniq -c -f 1
cat a 2>&1 | tail -3 # the end
ls /w/src""".splitlines()

ASKED = """\
rm a
touch a
cat /etc/passwd
cat ../secret
cat ~/.ssh/id_ed25519
ls ~
cat .env
cat config/.env.local
cat server.pem
cat .git/config
head -n 5 ./id_rsa
grep -R x .
grep -f patterns a
sort -o out a
sort --compress-program=./p a
uniq a out
sed -i s/a/b/ a
sed -n 'w out' a
sed -n '1e touch x' a
find . -delete
find . -exec rm {} +
find . -fprintf out x
wc --files0-from=list
wc -l *.py
tail -f log
xxd a b
tee out
echo x > out
echo $HOME
echo `id`
echo $(id)
echo "$(id)"
cat <(id)
cat <<< x
ls & rm x
ls |& tee x
x=1 ls
test -v 'a[$(id)]'
[ -v 'a[$(id)]' ]
printf -v x y
time ls
command ls
./ls
/bin/ls
git status
git log
npm test
make
python3 -c 1
env
for f in a; do cat $f; done
if true; then ls; fi
(ls)
{ ls; }
ls {a,b}
cat a\\ b
cat "a$b"
ls !x
rg --pre ./p x
rg -L x
jq -f prog a
date -s 2020-01-01
tree -o out
du --files0-from=x
file -f names
cmp a /dev/zero
diff a --to-file=/etc/passwd
uniq - out
cat a | uniq - out
uniq a -- -out
rg -e -- --pre=./p a
rg -ne -- --pre=./p a
rg -g -- --pre ./p a
rg --glob -- --pre=./p a
tree -I -- -o out
tree -Po x out
tree -LRo 1 out
sort -t -- -o out a
sort --key -- -o out a
sort --reverse=x a
make version
python3 version
node version
python3 -v
cat e.py | python3 -v
npm version
rustc --version
cargo --version
go version
printf %n PATH; ls
printf '%5ln' PATH && ls
cd
cd && cat notes
cd -
cd -- && cat notes
cd -P
cd ''
jq -n 'import "../out/j" as $d; $d'
jq -n 'include "x"; y'
jq -n env
strings @list
cat .git-credentials
cat .htpasswd
cat .dockercfg
cat _netrc
cat .azure/x
cat a.kdbx
cat f >out /dev/null
cat f >'out' /dev/null
cat f >/dev/null g
sort f 2>/dev/null -o out /dev/null
cat 2>/dev/null /etc/passwd 2>/dev/null
""".splitlines()


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("mode", ["ask", "read-only", "plan", "auto"])
def test_an_everyday_reading_command_runs_unasked_in_every_mode(command: str, mode: Mode) -> None:
    """Reading has no effect to ask about."""
    assert decide("bash", (Effect("execute", command),), Policy(mode, "/w")).verdict == "allow"


@pytest.mark.parametrize("command", [c for c in ASKED if c])
def test_what_writes_runs_something_or_leaves_the_folder_is_asked(command: str) -> None:
    """Or is not understood to the last character."""
    assert not only_reads(command, "/w")
    assert decide("bash", (Effect("execute", command),), Policy("ask", "/w")).verdict == "ask"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_no_hostile_command_counts_as_reading(case: dict[str, str]) -> None:
    """The whole list, whatever it wants."""
    command = case["command"].replace("[60,000 x a]", "a" * 60_000)
    if case.get("want") == "bounded":
        pytest.skip("bounded in time and output, which is the process's business")
    assert not only_reads(command, "/w")


@pytest.mark.parametrize(
    "command",
    [
        "ls\x00; touch x",
        "echo \u202e; touch x",
        "l\u0455 -la",
        "echo a\uff1btouch x",
        "to\u200buch x",
        "ls \U000e0072",
        "rm x #\rls",
        "a\x1b[2Kls",
    ],
)
@pytest.mark.parametrize("mode", ["ask", "auto", "full", "read-only"])
def test_text_that_cannot_be_shown_truly_is_refused_in_every_mode(command: str, mode: Mode) -> None:
    """What a person reads must be what runs."""
    decision = decide(
        "bash", (Effect("execute", command),), Policy(mode, "/w", Rules(allow=(parse_rule("bash"),)))
    )
    assert decision.verdict == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m '修复；完成'",
        "echo 'naïve — café'",
        "grep -n 'é' a.py",
        'echo "日本語"',
        "ls\r\necho x",
    ],
)
def test_other_languages_in_quotes_are_ordinary_text(command: str) -> None:
    """Only what misleads is refused."""
    assert unshowable(command) == ""


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("pytest -q", "allow"),
        ("pytest -q 2>&1 | tail -5", "allow"),
        ("cd src && pytest -q", "allow"),
        ("pytest -q && rm -rf x", "ask"),
        ("pytest -q > out", "ask"),
        ("pytest $(id)", "ask"),
        ("FOO=1 pytest", "ask"),
        ("pytest -q; git push", "ask"),
    ],
)
def test_a_line_of_several_commands_is_allowed_when_each_part_is(command: str, verdict: str) -> None:
    """By a rule that names its program, or because it only reads."""
    policy = Policy("ask", "/w", Rules(allow=(parse_rule("bash(pytest **)"),)))
    assert decide("bash", (Effect("execute", command),), policy).verdict == verdict


def test_deny_wins_over_reading() -> None:
    """A person's no is a no."""
    policy = Policy("ask", "/w", Rules(deny=(parse_rule("bash(cat)"),)))
    assert decide("bash", (Effect("execute", "cat a.txt"),), policy).verdict == "deny"


@pytest.mark.parametrize(
    "line", ["\\ .", "ls \\ a", "cat a \\ /b", "ls \\\t x", "ls a \\\n b", "ls \\ -la", "ls a \\ "]
)
def test_an_escaped_blank_is_a_word_to_the_shell_so_the_line_is_not_read(line: str) -> None:
    assert simple_commands(line) is None


WORD = st.text("abcXYZ019._/-", min_size=1, max_size=8)


@given(st.lists(WORD, min_size=1, max_size=6))
@settings(max_examples=300, deadline=None)
def test_plain_words_are_read_as_the_shell_reads_them(words: list[str]) -> None:
    """shlex as the second opinion."""
    import shlex

    if "/" in words[0]:
        words = ["x", *words]
    line = " ".join(words)
    assert simple_commands(line) == [shlex.split(line)]


@given(st.text(st.sampled_from(list("ls cat;|&<>(){}$`\"'\\\n\t #!*?[]~=%@a/.-")), max_size=30))
@settings(max_examples=500, deadline=None)
def test_what_is_read_holds_no_character_that_the_shell_would_expand(line: str) -> None:
    """Random shell soup: a line that was read has no expansion outside quotes, nor `$`, "`" or `\\` in double ones."""
    found = simple_commands(line)
    if found is None:
        return
    quoted = re.findall(r"'[^']*'|\"[^\"]*\"|#[^\n]*|[^'\"#]+", line)
    for part in quoted:
        if part[0] == '"':
            assert not set("$`\\") & set(part)
        elif part[0] not in "'#":
            assert not set("$`<({})\\~") & set(part)
