"""Which files of the project decide what a command will run, and how they stand now.

A standing yes to `npm test` is a yes to the script of that moment.  Looks at the first level only: a script
that runs another is not followed.  Knows nothing of policies.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat

from wisp.workspace.root import Workspace

_NODE = ("package.json", ".npmrc", ".yarnrc.yml")
_PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
_JVM = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "pom.xml")
_MAKE = ("GNUmakefile", "makefile", "Makefile")
_DECIDE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _NODE),
    **dict.fromkeys(("make", "gmake"), _MAKE),
    **dict.fromkeys(("just",), ("justfile", "Justfile", ".justfile")),
    **dict.fromkeys(("task",), ("Taskfile.yml", "Taskfile.yaml")),
    **dict.fromkeys(("tox", "hatch", "poetry", "pdm", "uv", "ruff", "mypy", "black"), _PYTHON),
    **dict.fromkeys(("pytest", "py.test"), ("conftest.py", "pytest.ini", *_PYTHON)),
    **dict.fromkeys(("gradle", "mvn", "sbt", "gradlew", "mvnw"), _JVM),
    "nox": ("noxfile.py",),
    "rake": ("Rakefile", "rakefile"),
    "bundle": ("Gemfile",),
    "invoke": ("tasks.py",),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml"),
    "composer": ("composer.json",),
    "pre-commit": (".pre-commit-config.yaml",),
    "cmake": ("CMakeLists.txt",),
    "meson": ("meson.build",),
}
"""By program: what it takes its orders from in the folder it is started in."""
_WORD = re.compile(r"[^\s'\";|&<>()`$]+")
_MOST_WORDS = 100
_MOST_BYTES = 1 << 20


def deciding(workspace: Workspace, command: str) -> str:
    """The files that decide what `command` runs, as `name=digest` separated by blanks; empty for none."""
    names: dict[str, None] = {}
    before = ""
    for word in _WORD.findall(command[:65_536])[:_MOST_WORDS]:
        names.update(dict.fromkeys(_DECIDE.get(word.rsplit("/", 1)[-1], ())))
        names[word] = None  # `uv run t.py`, `go run main.go`: nothing but the disk knows what is a script
        if "=" in word:
            names[word.partition("=")[2]] = None
        if before == "-m":
            module = word.replace(".", "/")
            names.update(dict.fromkeys((f"{module}.py", f"{module}/__main__.py")))
        before = word
    found = []
    for name in sorted(names):
        digest = _digest(os.path.join(workspace.cwd, name))
        if digest:
            found.append(f"{os.path.normpath(name)}={digest}")
    return " ".join(found)


def _digest(path: str) -> str:
    """Of a regular file; empty when there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        about = os.fstat(fd)
        if not stat.S_ISREG(about.st_mode):
            return ""
        head = os.read(fd, _MOST_BYTES)
        more = f"{about.st_size} {about.st_mtime_ns}" if about.st_size > len(head) else ""
        return hashlib.sha256(head + more.encode()).hexdigest()[:16]
    except OSError:
        return ""
    finally:
        os.close(fd)
