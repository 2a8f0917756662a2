"""What the tools of files cost over what they stand on: a search beside plain ripgrep, a read and an edit beside the calls.

    python benchmarks/tools.py [ROUNDS]

Over a tree of 5,000 files in a repository and a file of 1 MB; least and median, the cases in turn, in one process.
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

from sandbox import ENV, _times, _tree

from wisp.messages.ids import SystemClock
from wisp.tools.base import RunContext
from wisp.tools.builtin import default_tools
from wisp.workspace.box import Box, BoxSettings
from wisp.workspace.root import Workspace
from wisp.workspace.stop import StopToken

NEVER = "a text that is in none of them"
LINE = "a line of forty characters, to be counted\n"


def main(rounds: int) -> None:
    """Print one row a case."""
    rg = shutil.which("rg") or sys.exit("ripgrep is not installed")
    top = tempfile.mkdtemp(dir=os.getcwd(), prefix=".bench-")
    try:
        _tree(Path(top), 5000)
        (Path(top) / "large").write_text(LINE * 12_500 + "the needle\n" + LINE * 12_500)
        workspace = Workspace(top)
        box = Box(workspace, BoxSettings(home=ENV["HOME"]), ENV["PATH"], time.monotonic, time.time_ns)
        print(f"5,000 files in git, a file of 1 MB ({rounds} rounds, least and median ms):")
        for case, found in _times(_cases(workspace, box, top, rg), rounds).items():
            print(f"  {min(found):6.1f} {statistics.median(found):6.1f}  {case}")
        box.close()
        workspace.close()
    finally:
        shutil.rmtree(top)


def _cases(workspace: Workspace, box: Box, top: str, rg: str) -> dict[str, Callable[[], object]]:
    def tools(box: Box | None) -> dict[str, Callable[..., None]]:
        made = default_tools(workspace, environment=ENV, clock=SystemClock(), spool_folder=None, box=box)

        def called(name: str, **arguments: object) -> None:
            tool = next(tool for tool in made if tool.spec.name == name)
            outcome = tool.prepare(arguments).run(RunContext(StopToken(), len))
            assert not outcome.is_error  # type: ignore[union-attr]

        return {"call": called}

    plain, boxed = tools(None)["call"], tools(box)["call"]
    words = ["needle", "noodle"]

    def edited() -> None:
        plain("edit", path="large", edits=[{"old_text": words[0], "new_text": words[1]}])
        words.reverse()

    def written() -> None:
        with open(os.path.join(top, "large"), "rb") as file:
            data = file.read()
        with open(os.path.join(top, "beside"), "wb") as file:
            file.write(data)
            os.fsync(file.fileno())
        os.replace(os.path.join(top, "beside"), os.path.join(top, "large"))
        os.fsync(workspace.roots[0].fd)

    def searched() -> None:
        subprocess.run([rg, "-F", NEVER, "."], cwd=top, env=ENV, capture_output=True, check=False)

    return {
        "rg -F, nothing found": searched,
        "grep, nothing found": lambda: plain("grep", pattern=NEVER, literal=True),
        "grep, nothing found, ripgrep in its box": lambda: boxed("grep", pattern=NEVER, literal=True),
        "open and read 1 MB": lambda: Path(top, "large").read_bytes(),
        "read, 1 MB, from the middle": lambda: plain("read", path="large", offset=12_500, limit=100),
        "read, write, fsync, rename, fsync 1 MB": written,
        "edit, 1 MB": edited,
    }


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
