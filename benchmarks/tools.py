"""What the file tools cost beside the work itself, in turn, in one process: medians in milliseconds.

    python benchmarks/tools.py [ROUNDS]

A read and an edit in a file of 1 MB (floor: read it; read, change, write beside it, fsync, rename, fsync the folder),
and a search for what is nowhere in 5,000 files of a repository (floor: ripgrep by itself).  Tools as the model calls
them: prepared, then run.
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
from typing import Any

from wisp.messages.ids import SystemClock
from wisp.messages.tool import ToolOutcome
from wisp.tools.base import RunContext, Tool
from wisp.tools.builtin import default_tools
from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

LINE = "value = 12345  # one of many lines of a long file\n"


def main(rounds: int) -> None:
    """Print one row a case."""
    ripgrep = shutil.which("rg")
    if ripgrep is None:
        sys.exit("rg is not installed")
    with tempfile.TemporaryDirectory(dir=os.getcwd(), prefix=".bench-") as name:
        top = Path(name, "work")
        _tree(top)
        workspace = Workspace(str(top))
        env = {"PATH": os.environ["PATH"], "HOME": name, "LANG": "C.UTF-8"}
        box = Box(workspace, BoxSettings(home=name), env["PATH"], time.monotonic, time.time_ns)
        made = default_tools(
            workspace,
            environment=env,
            clock=SystemClock(),
            spool_folder=str(Path(name, "spool")),
            journal=str(Path(name, "journal")),
            box=box,
        )
        cases = _cases({tool.spec.name: tool for tool in made}, top, ripgrep)
        times: dict[str, list[float]] = {case: [] for case in cases}
        for turn in range(rounds + 1):
            for case, work in cases.items():
                began = time.perf_counter()
                work()
                if turn:
                    times[case].append((time.perf_counter() - began) * 1000)
        print(f"{rounds} rounds, least and median ms:")
        for case, found in times.items():
            print(f"  {min(found):6.1f} {statistics.median(found):6.1f}  {case}")
        box.close()
        workspace.close()


def _cases(tools: dict[str, Tool], top: Path, ripgrep: str) -> dict[str, Callable[[], object]]:
    count = iter(range(1_000_000))

    def call(tool: str, **arguments: Any) -> None:
        outcome = tools[tool].prepare(arguments).run(RunContext(StopToken(), lambda said: None))
        if not isinstance(outcome, ToolOutcome) or outcome.is_error:
            sys.exit(f"{tool}: {outcome}")

    def edit() -> None:
        number = next(count)
        old, new = f"marker {number}\n", f"marker {number + 1}\n"
        call("edit", path="long.txt", edits=[{"old_text": old, "new_text": new}])

    def plain_edit() -> None:
        path, beside = top / "plain.txt", top / ".plain.txt"
        data = path.read_bytes().replace(b"marker", b"MARKER", 1)
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, path)
        folder = os.open(top, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def plain_search() -> None:
        done = subprocess.run([ripgrep, "-F", "nowhere-at-all", str(top)], capture_output=True, check=False)
        if done.returncode != 1:
            sys.exit(f"rg ended with {done.returncode}")

    return {
        "read and decode 1 MB": (top / "long.txt").read_text,
        "read: 2,000 lines of 1 MB": lambda: call("read", path="long.txt"),
        "read, replace, write, fsync, rename, fsync 1 MB": plain_edit,
        "edit: one line of 1 MB": edit,
        "rg -F, a miss in 5,000 files": plain_search,
        "grep: a literal, a miss in 5,000 files": lambda: call(
            "grep", pattern="nowhere-at-all", literal=True
        ),
    }


def _tree(top: Path) -> None:
    for number in range(5000):
        path = top / f"d{number % 20}" / f"e{number % 17}" / f"f{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(LINE * 20)
    subprocess.run(["git", "init", "-q"], cwd=top, check=True)
    text = LINE * (1_000_000 // len(LINE) // 2)
    for name in ("long.txt", "plain.txt"):
        (top / name).write_text(f"{text}marker 0\n{text}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
