"""What git would run by itself, or write elsewhere, because of how a repository is configured.

A repository's own settings only: those of the user are the user's.  Hooks are not looked at: whoever lets git
commit lets its hooks run.  A hint for the policy, taken before the command runs.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator

from wisp.workspace.handles import small_file

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\\n]|\\.)*)")?\s*\]')
_RUNS = re.compile(
    r"core\.(fsmonitor|worktree|sshcommand|gitproxy|askpass)|diff\.(external|.*\.(textconv|command))|filter\..*"
    r"|merge\..*\.driver|gpg\.(.*\.)?program|log\.showsignature|include(if)?\..*|interactive\.difffilter"
    r"|extensions\.partialclone|remote\..*\.(promisor|vcs)|submodule\..*\.update"
)
_HARMLESS = re.compile(r"(false|no|off|0)?", re.IGNORECASE)
_MOST = 1 << 20


def runs_by_itself(folder: str) -> str:
    """The setting by which git, started in `folder`, would do more than its words say; empty for none."""
    base = folder
    while True:
        dot_git = os.path.join(base, ".git")
        if os.path.lexists(dot_git):
            return _of(dot_git)
        if all(os.path.lexists(os.path.join(base, name)) for name in ("HEAD", "objects", "refs")):
            # A repository that lies among the files, as a clone can bring it.
            return f"{base} is taken for a repository"
        if base == "/" or os.path.dirname(base) == base:
            return ""
        base = os.path.dirname(base)


def _of(dot_git: str) -> str:
    try:
        mode = os.lstat(dot_git).st_mode
    except OSError:
        return ""
    places = [dot_git]
    if stat.S_ISREG(mode):  # a linked worktree, or a submodule
        found = re.fullmatch(r"gitdir: ([^\x00\n]+)\n?", _text(dot_git) or "")
        if found is None:
            return f"{dot_git} is not understood"
        target = os.path.join(os.path.dirname(dot_git), found[1])
        common = (_text(os.path.join(target, "commondir")) or "").strip()
        places = [target, *([os.path.join(target, common)] if common else [])]
    elif not stat.S_ISDIR(mode):
        return f"{dot_git} is a link"
    for place in places:
        for name in ("config", "config.worktree"):
            path = os.path.join(place, name)
            if os.path.lexists(path):
                for key in _keys(path):
                    return f"{os.path.normpath(path)}: {key}"
    return ""


def _keys(path: str) -> Iterator[str]:
    """Settings of one file that count; a file that is not understood counts as a whole."""
    text = _text(path)
    if text is None:
        yield "it cannot be read"
        return
    section = ""
    for raw in text.split("\n"):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        while head := _SECTION.match(line):
            section = f"{head[1]}.{head[2]}".lower() if head[2] is not None else head[1].lower()
            line = line[head.end() :].strip()
        name, equals, value = line.partition("=")
        key = f"{section}.{name.strip().lower()}"
        if line and _RUNS.fullmatch(key) and not (equals and _HARMLESS.fullmatch(value.strip())):
            yield key
        if line.startswith("[") or line.endswith("\\"):
            yield "a line that is not understood"


def _text(path: str) -> str | None:
    """A small regular file's text; None for anything else."""
    data = small_file(path, _MOST + 1)
    return None if data is None or len(data) > _MOST else data.decode("utf-8", "surrogateescape")
