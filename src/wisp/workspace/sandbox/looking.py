"""The box of wisp's own programs that only look at one folder, as ripgrep does.

Much smaller than a command's: the program, the system's libraries, the folder that is searched, unwritable,
and what the folders above it say is to be ignored.  No home, no network, no other process is in it.  The
folder comes by its handle, so no name can lead elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from wisp.workspace.rulefiles import NAMES

_LIBRARIES = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/gnu/store")


def looking(bwrap: str, program: str, root: int, at: str, cwd: str, filter_: int) -> list[str]:
    """The command that a program of ours and its arguments follow.

    Args:
        program: the program's absolute path.
        root: handle of the folder that can be seen.
        at: where it stands, absolute.
        cwd: where the program starts, in it.
        filter_: descriptor of the system-call filter.
    """
    words = [
        bwrap,
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-net",
        "--unshare-cgroup-try",
    ]
    words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--seccomp", str(filter_)]
    if os.geteuid() != 0:
        words.append("--unshare-user")
    for place in _LIBRARIES:
        if os.path.islink(place):
            words += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            words += ["--ro-bind", place, place]
    if not program.startswith(tuple(place + "/" for place in _LIBRARIES)):
        words += ["--ro-bind", program, program]
    words += _above(at)
    words += ["--ro-bind", f"/proc/self/fd/{root}", at, "--chdir", cwd, "--"]
    return words


def _above(path: str) -> Sequence[str]:
    """What the folders above ignore: it holds below them too."""
    words: list[str] = []
    while path != "/":
        path = os.path.dirname(path)
        for name in NAMES:
            place = os.path.join(path, os.fsdecode(name))
            if os.path.isfile(place) and not os.path.islink(place):
                words += ["--ro-bind-try", place, place]
    return words
