"""Everyday commands end the same way and leave the same files in the box as outside of it.

What needs the network is not among them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

from workspace.sandbox.conftest import Boxed

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
    assert len(LINES) >= 90
    assert len(different) <= MOST_DIFFERENT * len(LINES), different
    assert not different, "\n".join(map(repr, different))


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
        subprocess.run(["git", *words.split()], cwd=folder, env=env, check=True, capture_output=True)


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
