"""A control group that counts the processes of a box, where this user may make one.

The limit by user does not hold for root; this does.  Both versions of control groups are tried; where
neither can be used there is no cap, and the guide says so.
"""

from __future__ import annotations

import os

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


class Cap:
    """At most `most` processes in everything that enters; closed when all of it has ended."""

    def __init__(self, most: int) -> None:
        self._path = _make(most)

    def entering(self, argv: list[str]) -> list[str]:
        """`argv`, made to enter the group before it becomes what it is."""
        if not self._path:
            return argv
        procs = os.path.join(self._path, "cgroup.procs")
        return ["/bin/sh", "-c", 'echo $$ >"$0" 2>/dev/null; exec "$@"', procs, *argv]

    @property
    def works(self) -> bool:
        """Whether there is a cap."""
        return bool(self._path)

    def close(self) -> None:
        """Remove the group."""
        if self._path:
            try:
                os.rmdir(self._path)
            except OSError:
                pass  # something in it is still ending; the empty group costs nothing
            self._path = ""


def _make(most: int) -> str:
    for base in _bases():
        _tidy(base)
        path = os.path.join(base, f"wisp-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            os.mkdir(path)
        except OSError:
            continue
        try:
            with open(os.path.join(path, "pids.max"), "w", encoding="ascii") as file:
                file.write(str(most))
            return path
        except OSError:
            os.rmdir(path)
    return ""


def _tidy(base: str) -> None:
    """Remove groups of agents that are no more: a killed one cannot do it itself."""
    try:
        names = os.listdir(base)
    except OSError:
        return
    for name in names:
        words = name.split("-")
        if len(words) == 3 and words[0] == "wisp" and not os.path.exists(f"/proc/{words[1]}"):
            try:
                os.rmdir(os.path.join(base, name))
            except OSError:
                continue  # still in use, or somebody else's


def _bases() -> list[str]:
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    found = []
    for _, kinds, path in (row for row in rows if len(row) == 3):
        if "pids" in kinds.split(","):
            found.append(os.path.join("/sys/fs/cgroup/pids", path.lstrip("/")))
        elif not kinds:
            found += [os.path.join(mount, path.lstrip("/")) for mount in _MOUNTS]
    return found
