"""Measure this checkout on this machine, beside a floor measured in the same run.

    python benchmarks/run.py [--rounds N] [--readme]

Prints a table, adds one JSON file to `benchmarks/results/`, and with `--readme` renews the figures in the
README.  Nothing here is asserted: times move with the machine; ratios to the floor move less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wisp._version import __version__
from wisp.testing.model_server import ModelServer
from wisp.testing.requests import Request
from wisp.testing.steps import Call, Step

HERE = Path(__file__).resolve().parent
FLOOR = [sys.executable, str(HERE / "floor.py")]
WISP = [str(Path(sys.executable).with_name("wisp"))]


class Server:
    """The scripted model server in a thread; notes when each request had arrived whole."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self.arrived: list[float] = []
        self.sizes: list[int] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def _choose(self, request: Request) -> Step:
        self.arrived.append(time.monotonic())
        self.sizes.append(len(request.body))
        return self._steps[min(len(request.results), len(self._steps) - 1)]

    def __enter__(self) -> Server:
        self._thread.start()
        self._server = ModelServer(self._choose, lenient=True)
        asyncio.run_coroutine_threadsafe(self._server.start(), self._loop).result()
        return self

    def __exit__(self, *exc: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def url(self) -> str:
        return self._server.url + "/v1"


class Outcome:
    """One finished process."""

    def __init__(self, argv: list[str], folder: Path, env: dict[str, str]) -> None:
        self.began = time.monotonic()
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(process.pid, 0)
        self.ended = time.monotonic()
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, (argv, process.returncode)
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / 1024


def median(rounds: int, measure: Callable[[], float]) -> float:
    """The median of `rounds` measurements after one that does not count."""
    measure()
    return statistics.median(measure() for _ in range(rounds))


def environment(folder: Path, url: str = "") -> dict[str, str]:
    """A clean home under `folder`, its settings naming the server."""
    home = folder / "home"
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "settings.toml").write_text(
        f'model = "local/m"\n[providers.local]\napi = "openai-chat"\nbase_url = "{url}"\n'
        "[providers.local.models.m]\ncontext_window = 1000000\nmax_output = 8000\n"
    )
    return {"PATH": os.environ["PATH"], "HOME": str(home), "WISP_HOME": str(home), "LANG": "C.UTF-8"}


def startup(rounds: int, folder: Path) -> dict[str, float]:
    """Whole processes, in milliseconds."""
    env = environment(folder)

    def wall(argv: list[str]) -> float:
        outcome = Outcome(argv, folder, env)
        return 1000 * (outcome.ended - outcome.began)

    return {
        "bare_ms": median(rounds, lambda: wall([sys.executable, "-c", "pass"])),
        "version_ms": median(rounds, lambda: wall([*WISP, "--version"])),
        "help_ms": median(rounds, lambda: wall([*WISP, "--help"])),
    }


def one_turn(rounds: int, folder: Path) -> dict[str, float]:
    """From starting the process to its first request; from the end of the answer to its exit; memory."""
    found: dict[str, float] = {}
    for name, command in (("wisp", [*WISP, "-p", "hi"]), ("floor", FLOOR)):
        with Server([Step(text="Hello.")]) as server:
            argv = command if name == "wisp" else [*command, server.url, "hi"]
            env = environment(folder, server.url)
            first, rest, memory = [], [], []
            for _ in range(rounds + 1):
                server.arrived.clear()
                outcome = Outcome(argv, folder, env)
                first.append(1000 * (server.arrived[0] - outcome.began))
                rest.append(1000 * (outcome.ended - server.arrived[0]))
                memory.append(outcome.memory)
            found[f"{name}_first_request_ms"] = statistics.median(first[1:])
            found[f"{name}_request_to_exit_ms"] = statistics.median(rest[1:])
            found[f"{name}_memory_mib"] = statistics.median(memory[1:])
            found[f"{name}_request_bytes"] = server.sizes[-1]
    return found


def fifty_turns(folder: Path) -> dict[str, float]:
    """Fifty reads: time between two requests at the beginning and the end, wall time, memory."""
    for number in range(50):
        (folder / f"mod_{number}.py").write_text(f"VALUE = {number}\n" * 40)
    steps = [Step(text="x", calls=(Call("read", {"path": f"mod_{n}.py"}, f"c{n}"),)) for n in range(50)]
    found: dict[str, float] = {}
    for name, command in (("wisp", [*WISP, "-p", "hi"]), ("floor", FLOOR)):
        with Server([*steps, Step(text="done")]) as server:
            argv = command if name == "wisp" else [*command, server.url, "hi"]
            outcome = Outcome(argv, folder, environment(folder, server.url))
            gaps = [1000 * (b - a) for a, b in zip(server.arrived, server.arrived[1:], strict=False)]
            found[f"{name}_turn_first_ten_ms"] = statistics.median(gaps[:10])
            found[f"{name}_turn_last_ten_ms"] = statistics.median(gaps[-10:])
            found[f"{name}_fifty_turns_ms"] = 1000 * (outcome.ended - outcome.began)
            found[f"{name}_fifty_memory_mib"] = outcome.memory
    return found


def deltas(folder: Path, count: int = 20_000) -> dict[str, float]:
    """CPU for one streamed delta, in microseconds, beyond a run that streams nothing to speak of."""
    found: dict[str, float] = {}
    for name, command in (("wisp", [*WISP, "-p", "hi"]), ("floor", FLOOR)):
        cpu = []
        for text in ("x", "word word wo" * count):
            with Server([Step(text=text, delta=12)]) as server:
                argv = command if name == "wisp" else [*command, server.url, "hi"]
                env = environment(folder, server.url)
                cpu.append(min(Outcome(argv, folder, env).cpu for _ in range(3)))
        found[f"{name}_delta_us"] = 1e6 * (cpu[1] - cpu[0]) / count
    return found


def modules(folder: Path) -> int:
    """How many modules a headless run imports before it is over."""
    with Server([Step(text="Hello.")]) as server:
        code = (
            "import sys\nfrom wisp.launch import main\nassert main(['-p', 'hi']) == 0\n"
            "print(len(sys.modules), file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=environment(folder, server.url),
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    return int(done.stderr.split()[-1])


ROWS = (
    ("`wisp --version`, whole process", "version_ms", "bare_ms", "ms"),
    ("`wisp --help`, whole process", "help_ms", "bare_ms", "ms"),
    ("process start to first request", "wisp_first_request_ms", "floor_first_request_ms", "ms"),
    ("request to exit, one short answer", "wisp_request_to_exit_ms", "floor_request_to_exit_ms", "ms"),
    ("between two requests, first ten of 50", "wisp_turn_first_ten_ms", "floor_turn_first_ten_ms", "ms"),
    ("between two requests, last ten of 50", "wisp_turn_last_ten_ms", "floor_turn_last_ten_ms", "ms"),
    ("50 turns, durable, wall", "wisp_fifty_turns_ms", "floor_fifty_turns_ms", "ms"),
    ("CPU for one streamed delta", "wisp_delta_us", "floor_delta_us", "us"),
    ("peak memory, one turn", "wisp_memory_mib", "floor_memory_mib", "MiB"),
    ("peak memory, 50 turns", "wisp_fifty_memory_mib", "floor_fifty_memory_mib", "MiB"),
)


def table(row: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    lines = ["| | Wisp | bare loop | ratio |", "|---|---:|---:|---:|"]
    for title, ours, floor, unit in ROWS:
        lines.append(
            f"| {title} | {row[ours]:.1f} {unit} | {row[floor]:.1f} {unit} | {row[ours] / row[floor]:.1f} |"
        )
    lines.append(
        f"| first request, bytes, all built-in tools | {row['wisp_request_bytes']:,} | {row['floor_request_bytes']:,} | |"
    )
    lines.append(f"| modules imported by a headless run | {row['modules']} | | |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--readme", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        row: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "version": __version__,
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "rounds": given.rounds,
            **startup(given.rounds, folder),
            **one_turn(given.rounds, folder),
            **fifty_turns(folder),
            **deltas(folder),
            "modules": modules(folder),
        }
    print(table(row))
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    stamp = row["at"].replace(":", "").replace("-", "")
    (results / f"{stamp}.json").write_text(json.dumps(row, indent=1) + "\n")
    if given.readme:
        _renew_readme(row)


def _renew_readme(row: dict[str, Any]) -> None:
    path = HERE.parent / "README.md"
    text = path.read_text("utf-8")
    begin, end = "<!-- figures: benchmarks/run.py -->", "<!-- /figures -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    note = (
        f"Measured {row['at'][:10]} on {row['machine']}, Python {row['python']}, medians of {row['rounds']}, beside a\n"
        "bare Python loop without sessions, policy or limits ([benchmarks/floor.py](benchmarks/floor.py)) in the\n"
        "same run, against a scripted model server on loopback. Repeat with `make bench`."
    )
    path.write_text(f"{head}{begin}\n{note}\n\n{table(row)}\n{end}{tail}", "utf-8")


if __name__ == "__main__":
    main()
