"""Everyday commands end the same way and leave the same files in the box as outside of it.

Collected from what contributor guides and manuals of Python, git, make and shell tools tell people to type.
What needs the network is not among them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from workspace.sandbox.conftest import Boxed

from wisp.messages.ids import SystemClock
from wisp.policy.decide import Policy, decide
from wisp.policy.reading import only_reads
from wisp.policy.rules import Rules
from wisp.tools.builtin import default_tools

NOW = f"{int(time.time())} +0000"
"""Of both first commits: patches hold it, and a busy machine makes the second one a second later."""
COMMANDS = r"""
ls -la
ls -R src | sort | head -5
pwd
cat README.md src/app.py
head -n 3 README.md && tail -n 2 README.md
wc -l src/*.py
grep -rn "def " src
grep -rl TODO . | sort || true
find src -name "*.py" | sort | xargs wc -l
touch -d 2001-01-01 README.md; find src -type f -newer README.md -print | sort > found.txt
sed -i 's/return a - b/return a + b/' src/app.py && git diff --stat
sed -n '1,3p' src/app.py
awk '{print NR": "$0}' README.md > numbered.txt
sort -u data.csv -o sorted.csv
cut -d, -f2 data.csv | sort | uniq -c | sort -rn
tr 'a-z' 'A-Z' < README.md > upper.txt
diff README.md src/app.py; test $? -eq 1
mkdir -p build/out && cp -r src build/out/ && mv build/out build/moved
rm -rf src/old && touch src/new.py && chmod +x src/new.py
ln -s src/app.py link.py && readlink link.py && cat link.py
ln README.md hard.md && stat -c %h hard.md
cp -p README.md copy.md && cmp README.md copy.md
tar czf app.tgz src && tar tzf app.tgz | sort && rm app.tgz
gzip -k data.csv && gunzip -c data.csv.gz | head -2 && rm data.csv.gz
printf 'a\nb\n' | tee list.txt | xargs -n1 echo item
cat > heredoc.txt <<'X'\nline $HOME\nX\n
for i in 1 2 3; do echo "$i" > "n$i.txt"; done; cat n*.txt
while read -r l; do echo "<$l>"; done < README.md
[ -f README.md ] && echo yes || echo no
test -d nowhere
false
exit 3
cd src && ls && pwd
export A=1; env | grep ^A=
echo $((6 * 7)) ${HOME##*/} {a,b}{1,2}
set -euo pipefail; cat missing.txt | wc -l
time true 2>/dev/null
sleep 0.05 & wait; echo done
mktemp >/dev/null && echo made
t=$(mktemp -d) && echo x > "$t/f" && cp "$t/f" from-temp.txt && rm -r "$t"
date +%Y | wc -c
id -un; whoami
uname -s
basename "$PWD"; dirname src/app.py; realpath --relative-to=. src/app.py
md5sum README.md; sha256sum src/app.py
od -c README.md | head -2
seq 1 5 | paste -sd+ | sed 's/+/ plus /g'
printf '%s\n' b a c | sort | nl
split -n 2 data.csv part- && cat part-* > whole.csv && cmp whole.csv data.csv
touch -d '2020-01-01' old.txt && stat -c %Y old.txt
truncate -s 100 hole.bin && stat -c %s hole.bin
dd if=/dev/zero of=zero.bin bs=1k count=4 status=none && wc -c < zero.bin
git status --short
git log --oneline | wc -l
git add -A && git commit -qm change && git show --stat --format=%s HEAD
git checkout -qb feature && echo f > feature.txt && git add feature.txt && git commit -qm feature && git log --format=%s -1
git stash list && echo s >> README.md && git stash -q && git stash pop -q && git diff --name-only
git branch --list | wc -l
git rm -q README.md && git status --short && git reset -q --hard && ls README.md
git mv data.csv moved.csv && git status --short
git diff HEAD~0 --exit-code
git grep -n return
git blame -s src/app.py | wc -l
git tag v1 && git describe --tags
git rev-parse --show-toplevel | xargs basename
git ls-files | sort
git clean -fdq && ls
git -C . rev-list --count HEAD
python3 -B -c 'print(sum(range(10)))'
python3 -B -m unittest discover -s src -q
python3 -B src/app.py
python3 -B -m json.tool < package.json
python3 -B -c "import json; d=json.load(open('package.json')); d['v']=2; json.dump(d, open('package.json','w'))"
python3 -B -m compileall -q -d x src && find . -name '*.pyc' | wc -l && find . -name __pycache__ -exec rm -r {} +
python3 -B -c "import tempfile; f=tempfile.NamedTemporaryFile(); print(len(f.name) > 3)"
python3 -B -c "import multiprocessing as m; p=m.get_context('fork').Pool(2); print(p.map(abs, [-1, -2]))"
python3 -B -c "import subprocess; print(subprocess.run(['echo', 'hi'], capture_output=True).stdout)"
python3 -B -c "import socket; a, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))"
python3 -B -c "import socket; s=socket.create_server(('127.0.0.1', 0)); c=socket.create_connection(s.getsockname()); print('local')"
python3 -B -c "import sqlite3; c=sqlite3.connect('t.db'); c.execute('create table t(a)'); c.commit(); print('ok')"
python3 -B -m http.server --help | head -1
python3 -B -c "import asyncio; asyncio.run(asyncio.sleep(0)); print('ran')"
make
make test && cat built.txt
make missing 2>/dev/null
bash -n script.sh && bash script.sh a b
sh -c 'echo "$0 $1"' x y
./script.sh one
perl -pe 's/a/A/g' README.md | head -1
yes | head -3
echo '{"a": [1, 2]}' | python3 -B -c "import sys, json; print(json.load(sys.stdin)['a'][1])"
(umask 027; touch private.txt); stat -c %a private.txt
trap 'echo bye' EXIT; echo hi
kill -0 $$ && echo alive
ulimit -n >/dev/null; nproc >/dev/null; df . >/dev/null; du -sh . >/dev/null; ps >/dev/null; echo fine
git diff --cached --name-only
git diff --word-diff HEAD
git log -p -1
git log --graph --decorate --all --oneline
git log --since=yesterday --author=nobody
git shortlog -sn HEAD
git show HEAD:README.md
git show --name-only --format= HEAD
git branch -a -vv
git switch -qc topic && git switch -q - && git branch -D topic -q
git restore README.md
echo x >> README.md && git restore --source=HEAD README.md && git status --porcelain
git commit -q --allow-empty -m empty && git commit -q --amend -m amended && git log -1 --format=%s
git rebase -q HEAD && git merge -q HEAD && git log --oneline | wc -l
git cherry -v HEAD
git checkout -qb a && echo a > a.txt && git add a.txt && git commit -qm a && git checkout -q - && git merge -q --no-ff -m join a && git log --format=%s -1
git checkout -qb c && echo c > c.txt && git add . && git commit -qm c && git checkout -q - && git cherry-pick c >/dev/null && ls c.txt
echo r > r.txt && git add r.txt && git commit -qm r && git revert --no-edit HEAD >/dev/null && ls r.txt 2>/dev/null
git reset -q --soft HEAD && git reset -q HEAD && git status -sb
git format-patch -q --root -o patches && ls patches
git archive HEAD --prefix=app/ -o app.tar && tar tf app.tar | sort && rm app.tar
echo extra >> README.md && git diff > change.patch && git checkout -q README.md && git apply change.patch && tail -1 README.md
git apply --check missing.patch 2>/dev/null
git check-ignore -v x.log
git ls-tree -r --name-only HEAD
git cat-file -p HEAD^{tree} | cut -c1-6 | sort -u
git merge-base HEAD HEAD | wc -c
git worktree list | wc -l
git reflog | wc -l
git fsck 2>/dev/null | wc -l
git gc -q && git count-objects | wc -w
git config --get user.name; git config --list --show-scope >/dev/null; echo read
git bisect start -q 2>/dev/null; git bisect reset -q 2>/dev/null; echo bisected
git submodule status
git add -p < /dev/null >/dev/null; git status --short
git ls-files -z | xargs -0 wc -c | tail -1
git rev-parse --abbrev-ref HEAD; git symbolic-ref --short HEAD
git diff --check; git diff --numstat; git diff --shortstat
git grep -c def -- '*.py'
git log --follow --format=%s -- src/app.py
python3 -B -m unittest
python3 -B -m unittest discover -s src -p 'test_*.py' -v 2>/dev/null
python3 -B -m unittest src.test_app 2>/dev/null
cd src && python3 -B -m unittest test_app.T.test_it -q 2>/dev/null
python3 -B -m doctest src/app.py
python3 -B -m venv --without-pip env && env/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'; rm -rf env
python3 -B -m pip --version >/dev/null 2>&1; python3 -V >/dev/null; echo versions
python3 -B -m pip list >/dev/null 2>&1; echo listed
python3 -B -m timeit -n 1 -r 1 pass >/dev/null
python3 -B -m trace --count --missing -C cover src/app.py >/dev/null 2>&1; rm -rf cover; echo traced
python3 -B -m cProfile -o prof.out src/app.py && rm prof.out && echo profiled
python3 -B -m pydoc -b --help >/dev/null 2>&1; echo documented
python3 -B -m zipapp src -m app:diff -o app.pyz 2>/dev/null; rm -f app.pyz; ls
python3 -B -m tarfile -c t.tar README.md && python3 -B -m tarfile -l t.tar && rm t.tar
python3 -B -m zipfile -c t.zip README.md && python3 -B -m zipfile -l t.zip | wc -l && rm t.zip
python3 -B -m py_compile src/app.py && find . -name __pycache__ -prune -exec rm -r {} +
python3 -B -m ast src/app.py | head -3
python3 -B -m tokenize src/app.py | wc -l
python3 -B -m tabnanny src
python3 -B -m site --user-site >/dev/null; echo site
python3 -B -X dev -W error src/app.py
python3 -B -c 'import sys; sys.exit(7)'
PYTHONPATH=src python3 -B -c 'import app; print(app.diff(1, 2))'
PYTHONDONTWRITEBYTECODE=1 python3 -m unittest discover -q -s src 2>/dev/null
python3 -B - <<'X'\nfrom pathlib import Path\nPath('made.txt').write_text('made')\nX\n
python3 -B -c "import threading; t=threading.Thread(target=print, args=('t',)); t.start(); t.join()"
python3 -B -c "import urllib.request" && echo imported
python3 -B -c "import http.server, threading, urllib.request as u; s=http.server.ThreadingHTTPServer(('127.0.0.1',0), http.server.SimpleHTTPRequestHandler); threading.Thread(target=s.serve_forever, daemon=True).start(); print(u.build_opener(u.ProxyHandler({})).open(f'http://127.0.0.1:{s.server_port}/README.md').status)" 2>/dev/null
python3 -B -c "import mmap; f=open('data.csv','r+b'); m=mmap.mmap(f.fileno(),0); print(m[:1])"
python3 -B -c "import fcntl; f=open('lock','w'); fcntl.flock(f, fcntl.LOCK_EX|fcntl.LOCK_NB); print('locked')"
python3 -B -c "import os; r,w=os.pipe(); p=os.fork(); os._exit(0) if p==0 else os.waitpid(p,0); print('forked')"
python3 -B -c "import os, signal; signal.signal(signal.SIGUSR1, lambda *a: print('got')); os.kill(os.getpid(), signal.SIGUSR1)"
python3 -B -c "from concurrent.futures import ProcessPoolExecutor as P; import multiprocessing as m; print(list(P(2, mp_context=m.get_context('fork')).map(abs, [-3])))"
python3 -B -c "import logging; logging.basicConfig(filename='app.log', format='%(message)s'); logging.warning('x')" && cat app.log
make -n all
make -s all && cat built.txt
make -j2 all test && cat built.txt
make -C . all >/dev/null && ls built.txt
make -k missing all 2>/dev/null; test -f built.txt && echo kept
make CC=true -B all
make --version | head -1 | cut -c1-3
perl -ne 'print if /App/' README.md
perl -i.bak -pe 's/small/big/' README.md && diff README.md README.md.bak; rm README.md.bak
perl -MJSON::PP -e 'print encode_json({a=>1})'
find . -type f -name '*.csv' -exec grep -c red {} +
find . -maxdepth 1 -type f | sort | head -3
find . -name '*.pyc' -delete; find . -empty -type f | sort
grep -c '' README.md data.csv; grep -v TODO README.md; grep -E '^#+' -o README.md
grep -rIl --exclude-dir=.git --include='*.py' diff . | sort
sed -e 's/red/RED/g' -e '/blue/d' data.csv > clean.csv; cat clean.csv
awk -F, '{s[$2]++} END {for (k in s) print k, s[k]}' data.csv | sort
comm -12 <(sort data.csv) <(sort -r data.csv | sort)
join -t, <(sort data.csv) <(sort data.csv) | wc -l
xargs -a data.csv -I{} echo 'row {}' | head -1
install -D -m 755 script.sh bin/tool && bin/tool x
mkdir -p a/b/c && touch a/b/c/f && rmdir a/b/c 2>/dev/null; find a | sort
mv README.md docs.md && cp -a src src2 && diff -r src src2 && rm -r src2
chmod -R u+w src; chmod 644 script.sh; ls -l script.sh | cut -c1-10
tail -n +2 data.csv | head -1; tac data.csv | rev | fold -w 3 | head -2
tee a.txt b.txt < README.md > /dev/null && cmp a.txt b.txt && echo same
timeout 5 true; timeout 0.1 sleep 2; echo $?
nice -n 5 true && nohup true >/dev/null 2>&1 && echo ran
base64 README.md | base64 -d | cmp - README.md && echo same
printf 'name=%s\n' app > .env.example && cat .env.example
column -t -s, data.csv 2>/dev/null | wc -l; expr 3 \* 4; printf '%05.1f\n' 3.14159
( cd src && ls ) | wc -l; { echo a; echo b; } > two.txt; wc -l < two.txt
case "$(uname)" in Linux) echo l;; *) echo o;; esac; [[ abc =~ b ]] && echo match
f() { local x=$1; echo "f $x"; }; f y; unset -f f; type -t cd; command -v python3 >/dev/null && echo there
arr=(x y z); echo "${#arr[@]} ${arr[1]}"; declare -A m=([k]=v); echo "${m[k]}"; echo "${HOME:+set}"
shopt -s globstar nullglob; echo **/*.py | tr ' ' '\n' | sort
mkfifo pipe && (echo through > pipe &) && cat pipe && rm pipe
exec 3> third.txt; echo third >&3; exec 3>&-; cat third.txt
"""
LINES = [line.replace("\\n", "\n") if "<<" in line else line for line in COMMANDS.strip().split("\n")]
FILES = {
    "README.md": "# App\n\nA small app.\nTODO: more\n",
    "data.csv": "1,red\n2,blue\n3,red\n",
    "package.json": '{"name": "app", "v": 1}\n',
    "Makefile": "all:\n\techo built > built.txt\ntest: all\n\tgrep -q built built.txt\n",
    "script.sh": '#!/bin/bash\necho "args: $*"\n',
    "src/app.py": "def diff(a, b):\n    return a - b\n\n\nif __name__ == '__main__':\n    print(diff(3, 1))\n",
    "src/test_app.py": "import unittest\nfrom app import diff\n\n\nclass T(unittest.TestCase):\n"
    "    def test_it(self):\n        self.assertEqual(diff(3, 1), 2)\n",
    "src/old/gone.py": "",
    ".gitignore": "*.log\n",
    ".envrc": "export X=1\n",
}
MOST_DIFFERENT = 0.05


@pytest.mark.slow
def test_everyday_commands_do_the_same_inside_and_outside(
    boxed: Boxed, tmp_path: Path, need: Callable[[str], str]
) -> None:
    for program in ("git", "python3", "make", "perl"):
        need(program)
    plain = tmp_path / "plain"
    different = []
    for command in LINES:
        found = []
        for folder in (plain, boxed.folder):
            _fresh(folder, boxed.environment)
            if folder is plain:
                done = subprocess.run(
                    ["/bin/bash", "-c", command],
                    cwd=folder,
                    env=boxed.environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=False,
                )
                found.append((done.returncode, _tree(folder)))
            else:
                ending, _ = boxed(command)
                found.append((ending.code or 0, _tree(folder)))
        if found[0] != found[1]:
            different.append((command, found[0][0], found[1][0], set(found[0][1]) ^ set(found[1][1])))
    assert len(LINES) >= 200
    assert len(different) <= MOST_DIFFERENT * len(LINES), different
    assert not different, "\n".join(map(repr, different))


def test_everyday_commands_run_unasked_in_the_box_and_without_it_only_those_that_read(boxed: Boxed) -> None:
    """In auto mode, by the tool's own account of what it would do; 95 in a hundred, and none that could write."""
    _fresh(boxed.folder, boxed.environment)
    counts = {}
    for box in (boxed.box, None):
        tools = default_tools(
            boxed.workspace, environment=boxed.environment, clock=SystemClock(), spool_folder=None, box=box
        )
        bash = next(tool for tool in tools if tool.spec.name == "bash")
        policy = Policy("auto", str(boxed.folder), Rules(), sandboxed=box is not None)
        effects = {line: bash.prepare({"command": line}).effects for line in LINES}
        unasked = [line for line in LINES if decide("bash", effects[line], policy).verdict == "allow"]
        counts[box is not None] = len(unasked) / len(LINES)
        if box is None:
            assert all(
                effect.kind == "read" or only_reads(effect.target, policy.root)
                for line in unasked
                for effect in effects[line]
            )
    assert counts[True] >= 0.95, counts
    assert 0.05 < counts[False] < 0.5, (
        counts
    )  # a build or a test can do anything, and without a box it is asked about


def _fresh(folder: Path, env: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "script.sh").chmod(0o755)
    for words in ("init -q", "add -A", "commit -qm first"):
        dated = {**env, "GIT_AUTHOR_DATE": NOW, "GIT_COMMITTER_DATE": NOW}
        subprocess.run(["git", *words.split()], cwd=folder, env=dated, check=True, capture_output=True)


def _tree(folder: Path) -> dict[str, str]:
    """Every entry but git's own, with its kind, mode and content."""
    found = {}
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            path = Path(top, name)
            there = path.lstat()
            digest = ""
            if stat.S_ISLNK(there.st_mode):
                digest = os.readlink(path)
            elif stat.S_ISREG(there.st_mode) and path.suffix != ".db":
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[f"{path.relative_to(folder)} {there.st_mode:o} {digest}"] = ""
    return found
