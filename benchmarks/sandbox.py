"""What the sandbox costs a command: ours beside bubblewrap and no sandbox, in turn, in one process.

    python benchmarks/sandbox.py [ROUNDS [USER]]

Least and median of a command that does nothing, over an empty folder and over a tree of 5,000 files in a repository.
Bubblewrap is measured with one folder made writable, and with everything covered that ours covers.  With the number
of another user, root measures it as that user; the guardian is left out then, if that user cannot run this Python.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.process import run
from wisp.workspace.root import Workspace
from wisp.workspace.sandbox import runner  # noqa: F401  (loaded before the user changes)
from wisp.workspace.sandbox.bubblewrap import arguments, packed
from wisp.workspace.sandbox.plan import Grant, plan
from wisp.workspace.sandbox.probe import descriptor
from wisp.workspace.sandbox.standins import Standins
from wisp.workspace.sandbox.watch import Watch
from wisp.workspace.stop import StopToken

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": os.path.expanduser("~")}
PLAIN = [
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
]


def main(rounds: int, user: int) -> None:
    """Print one row a case."""
    launcher = shutil.which("bwrap")
    if launcher is None:
        sys.exit("bwrap is not installed")
    for name, files in (("empty folder", 0), ("5,000 files in git", 5000)):
        top = tempfile.mkdtemp(dir=os.getcwd(), prefix=".bench-")
        try:
            if user != os.geteuid():
                _become(user, top)
            _tree(Path(top), files)
            print(f"{name} ({rounds} rounds, least and median ms):")
            _one(top, launcher, rounds)
        finally:
            shutil.rmtree(top)


def _become(user: int, folder: str) -> None:
    """Be `user` from now on, with a readable /proc of its own, as if started so."""
    os.chown(folder, user, user)
    ENV["HOME"] = os.environ["HOME"] = folder
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    ctypes.CDLL(None).prctl(4, 1)


def _one(top: str, launcher: str, rounds: int) -> None:
    workspace = Workspace(top)
    box = Box(workspace, BoxSettings(home=ENV["HOME"]), ENV["PATH"], time.monotonic, time.time_ns)
    command = ["/bin/bash", "-c", "true"]

    def started(argv: list[str], guarded: bool = False, fds: tuple[int, ...] = ()) -> None:
        run(
            argv,
            cwd=workspace.roots[0].fd,
            env=ENV,
            timeout=30,
            stop=StopToken(),
            now=time.monotonic,
            output=len,
            guarded=guarded,
            fds=fds,
        )

    with _covers(workspace, launcher) as covers:

        def covered() -> None:
            args = descriptor("args", covers)
            started([launcher, "--args", str(args), "--", *command], fds=(args,))
            os.close(args)

        one_folder = [
            launcher,
            *PLAIN,
            *([] if os.geteuid() == 0 else ["--unshare-user"]),
            "--bind",
            top,
            top,
        ]
        cases: dict[str, Callable[[], object]] = {
            "sh -c true": lambda: started(["/bin/sh", "-c", "true"]),
            "bash -c true under the guardian": lambda: started(command, guarded=True),
            "bwrap, one folder writable, bash -c true": lambda: started([*one_folder, "--", *command]),
            "bwrap, the same covers as ours, bash -c true": covered,
            "wisp's sandbox, bash -c true": lambda: box.run(
                command, env=ENV, timeout=30, stop=StopToken(), output=len
            ),
        }
        if not os.access(sys.executable, os.X_OK):
            del cases["bash -c true under the guardian"]
        for case, found in _times(cases, rounds).items():
            print(f"  {min(found):6.1f} {statistics.median(found):6.1f}  {case}")
    box.close()
    workspace.close()


@contextmanager
def _covers(workspace: Workspace, launcher: str) -> Iterator[bytes]:
    """What bubblewrap is told for a box like ours, but for the list of what git is to ignore."""
    found = Watch(workspace.roots[0].path).look(time.time_ns())
    grant = Grant(launcher, workspace.roots, ENV["HOME"], (), (), False)
    with Standins() as standins, tempfile.TemporaryDirectory() as temporary:
        spec = plan(grant, found, ENV, standins, temporary, {}, {})
        yield packed(arguments(spec))


def _times(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in cases}
    for work in cases.values():
        work()
    for _ in range(rounds):
        for name, work in cases.items():
            begun = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - begun) * 1000)
    return times


def _tree(top: Path, files: int) -> None:
    for number in range(files):
        path = top / f"d{number % 20}" / f"e{number % 17}" / f"f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    if files:
        subprocess.run(["git", "init", "-q"], cwd=top, check=True)


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 50, int(sys.argv[2]) if len(sys.argv) > 2 else os.geteuid()
    )
