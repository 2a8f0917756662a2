"""Measure what a snapshot costs in a folder of 50,000 files of which none changed, beside looking at each.

    python benchmarks/undo.py [--files N]

The first snapshot reads everything; the ones after it read nothing but names and times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from wisp.workspace.snapshots import Snapshots
from wisp.workspace.store import ObjectStore


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that `work` takes."""
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def look(top: str) -> int:
    """The floor: every name and its status once."""
    count = 0
    for where, _, names in os.walk(top):
        for name in names:
            os.lstat(os.path.join(where, name))
            count += 1
    return count


def main() -> None:
    """Make, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=50_000)
    count = parser.parse_args().files
    with tempfile.TemporaryDirectory() as name:
        top = Path(name, "work")
        for number in range(count):
            path = top / f"d{number // 500}" / f"s{number // 50 % 10}" / f"f{number}.py"
            if number % 50 == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"value = {number}\n" * 20)
        fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
        store = ObjectStore(str(Path(name, "store")))
        snapshots = Snapshots(fd, str(top), store, str(Path(name, "journals")))
        first = timed(snapshots.take)
        again = statistics.median(timed(snapshots.take) for _ in range(5))
        fresh = Snapshots(fd, str(top), store, str(Path(name, "journals")))
        tree = snapshots.take()
        warm = timed(lambda: (fresh.warm(tree), fresh.take()))
        floor = statistics.median(timed(lambda: look(str(top))) for _ in range(5))
    print("| 50,000 files | ms |\n|---|---:|".replace("50,000", f"{count:,}"))
    print(f"| first snapshot, everything is read | {first:,.0f} |")
    print(f"| nothing changed | {again:,.0f} |")
    print(f"| nothing changed, first of a new process | {warm:,.0f} |")
    print(f"| floor: every name and status once | {floor:,.0f} |")


if __name__ == "__main__":
    main()
