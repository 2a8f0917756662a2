"""Compiles the native side, checks that both agree, and measures both.

    python book/native/measure.py [--write]

Needs a C compiler.  The threshold was set before anything was measured: the native side is adopted if an
output of one megabyte, which is a large one, gets cheaper by ten milliseconds or more, since a person notices
less than that nowhere; and if it is at least twice as fast.
"""

from __future__ import annotations

import ctypes
import json
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from retention import keep

HERE = Path(__file__).resolve().parent
SECONDS_SAVED = 0.010
TIMES_FASTER = 2.0
Keep = Callable[[bytes, int, int], tuple[int, int, int]]


def compiled(folder: Path) -> Keep:
    """Build the library into a folder and wrap its one function."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("a C compiler is needed: cc")
    library = folder / "retention.so"
    subprocess.run(
        [compiler, "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, HERE / "retention.c"],
        check=True,
    )
    function = ctypes.CDLL(str(library)).keep
    size = ctypes.c_size_t
    function.argtypes = [ctypes.c_char_p, size, size, size, ctypes.POINTER(size)]
    function.restype = None

    def native(data: bytes, head: int, tail: int) -> tuple[int, int, int]:
        out = (size * 3)()
        function(data, len(data), head, tail, out)
        return out[0], out[1], out[2]

    return native


def disagreements(native: Keep, rounds: int = 5_000) -> list[str]:
    """Run the shared fixture and random texts through both sides."""
    found = []
    for case in json.loads((HERE / "cases.json").read_text(encoding="utf-8")):
        data, wanted = case["data"].encode(), tuple(case["out"])
        for name, side in (("python", keep), ("native", native)):
            got = side(data, case["head"], case["tail"])
            if got != wanted:
                found.append(f"{name}, {case['why']}: {got}, not {wanted}")
    coin = random.Random(1)
    for _ in range(rounds):
        data = bytes(coin.choice(b"ab\n") for _ in range(coin.randrange(30)))
        head, tail = coin.randrange(12), coin.randrange(12)
        if keep(data, head, tail) != native(data, head, tail):
            found.append(f"{data!r} {head} {tail}: {keep(data, head, tail)} and {native(data, head, tail)}")
    return found


def median(side: Keep, data: bytes, rounds: int = 51) -> float:
    """Seconds for one call, the median of many."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        side(data, 16_384, 16_384)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def main(argv: list[str]) -> int:
    """Print a table and the verdict; with --write, into the case study's own file as well."""
    with tempfile.TemporaryDirectory() as folder:
        native = compiled(Path(folder))
        problems = disagreements(native)
        if problems:
            print("\n".join(problems[:10]))
            return 1
        lines = [f"Python {platform.python_version()}, {platform.machine()}; medians of 51 calls", ""]
        lines += ["| Output | Python | native | faster | saved |", "|---|---|---|---|---|"]
        adopt = False
        for name, size in (("64 KiB", 1 << 16), ("1 MiB", 1 << 20), ("16 MiB", 1 << 24)):
            data = (b"x" * 79 + b"\n") * (size // 80)
            slow, fast = median(keep, data), median(native, data)
            ratio, saved = slow / fast, slow - fast
            lines.append(
                f"| {name} | {slow * 1e3:.2f} ms | {fast * 1e3:.2f} ms | {ratio:.1f} x | {saved * 1e3:.2f} ms |"
            )
            if name == "1 MiB":
                adopt = saved >= SECONDS_SAVED and ratio >= TIMES_FASTER
        lines += ["", f"Verdict: {'adopt' if adopt else 'do not adopt'}."]
    print("\n".join(lines))
    if "--write" in argv:
        (HERE / "result.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
