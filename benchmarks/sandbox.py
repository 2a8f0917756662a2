"""What the sandbox costs a command: ours beside plain bubblewrap and no sandbox, in turn, in one process.

    python benchmarks/sandbox.py [ROUNDS]

Least and median of a command that does nothing, over an empty folder and over a tree of 5,000 files in a repository.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.process import run
from wisp.workspace.root import Workspace
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


def main(rounds: int) -> None:
    """Print one row a case."""
    launcher = shutil.which("bwrap")
    if launcher is None:
        sys.exit("bwrap is not installed")
    for name, files in (("empty folder", 0), ("5,000 files in git", 5000)):
        top = tempfile.mkdtemp(dir=os.getcwd(), prefix=".bench-")
        try:
            _tree(Path(top), files)
            print(f"{name} ({rounds} rounds, least and median ms):")
            _one(top, launcher, rounds)
        finally:
            shutil.rmtree(top)


def _one(top: str, launcher: str, rounds: int) -> None:
    workspace = Workspace(top)
    box = Box(workspace, BoxSettings(home=ENV["HOME"]), ENV["PATH"], time.monotonic, time.time_ns)
    folder = workspace.roots[0].fd

    def started(argv: list[str], guarded: bool) -> None:
        run(
            argv,
            cwd=folder,
            env=ENV,
            timeout=30,
            stop=StopToken(),
            now=time.monotonic,
            output=len,
            guarded=guarded,
        )

    plain = [launcher, *PLAIN, "--bind", top, top, "--", "/bin/bash", "-c", "true"]
    cases: dict[str, Callable[[], object]] = {
        "sh -c true": lambda: started(["/bin/sh", "-c", "true"], False),
        "bash -c true under the guardian": lambda: started(["/bin/bash", "-c", "true"], True),
        "bwrap ... bash -c true": lambda: started(plain, False),
        "wisp's sandbox, bash -c true": lambda: box.run(
            ["/bin/bash", "-c", "true"], env=ENV, timeout=30, stop=StopToken(), output=len
        ),
    }
    for case, found in _times(cases, rounds).items():
        print(f"  {min(found):6.1f} {statistics.median(found):6.1f}  {case}")
    box.close()
    workspace.close()


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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
