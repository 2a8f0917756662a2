"""A control group that counts the processes of a box, where this user may make one.

The limit by user does not hold for root; this does.  Both versions of control groups are tried; where
neither can be used there is no cap, and the guide says so.
"""

from __future__ import annotations

import os
import re
import time

_GROUP = re.compile(r"(/wisp-\d+-[0-9a-f]{8})+$")
_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")


class Cap:
    """At most `most` processes in everything that enters; closed when all of it has ended."""

    def __init__(self, most: int) -> None:
        self._path = _make(most)

    def entering(self, argv: list[str]) -> list[str]:
        """`argv`, to be started by this thread, made to be in the group from its beginning.

        Where single threads can enter, this one does, once: entering takes the system up to ten
        milliseconds, being born inside nothing.
        """
        if not self._path or self._enter():
            return argv
        procs = os.path.join(self._path, "cgroup.procs")
        return ["/bin/sh", "-c", 'echo $$ >"$0" 2>/dev/null; exec "$@"', procs, *argv]

    def _enter(self) -> bool:
        """Let this thread be in the group; whether it is."""
        try:
            with open("/proc/thread-self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
                if os.path.basename(self._path) in file.read():
                    return True
            with open(os.path.join(self._path, "tasks"), "w", encoding="ascii") as file:
                file.write("0")
        except OSError:
            return False
        return True

    @property
    def works(self) -> bool:
        """Whether there is a cap."""
        return bool(self._path)

    def close(self) -> None:
        """Let our threads leave, and remove the group."""
        path, self._path = self._path, ""
        for _ in range(20 if path else 0):
            try:
                _leave(path)
                os.rmdir(path)
                return
            except OSError:
                time.sleep(0.01)  # something in it is still ending; at last the next agent removes it


def _leave(path: str) -> None:
    tasks = os.path.join(path, "tasks")
    if os.path.exists(tasks):
        with open(tasks, encoding="ascii") as file:
            inside = file.read().split()
        for one in inside:
            with open(os.path.join(os.path.dirname(path), "tasks"), "w", encoding="ascii") as file:
                file.write(one)


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
        path = _GROUP.sub("", path)  # never one inside another
        if "pids" in kinds.split(","):
            found.append(os.path.join("/sys/fs/cgroup/pids", path.lstrip("/")))
        elif not kinds:
            found += [os.path.join(mount, path.lstrip("/")) for mount in _MOUNTS]
    return found
