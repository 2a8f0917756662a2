"""Measure the full-screen interface in a pseudo-terminal, beside a bare Textual app in the same run.

    python benchmarks/screen.py [--rounds N]

First frame, echo of a key while a reply streams, CPU of replies, opening of long conversations, memory. What is
asserted is nothing: times move with the machine.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from process.program import Program
from process.server import ServerThread
from sessions import make

from wisp.session.catalog import session_path

BARE = [sys.executable, str(Path(__file__).with_name("bare_app.py"))]
WISP = [str(Path(sys.executable).with_name("wisp"))]
RARE = "ŵẑǧǩǰȟśţũẘẙąęįųḍ"
PARAGRAPH = (
    "## A heading\n\nSome *words* with `code` and [a link](https://example.org), as answers have them, over more "
    "than one line of the screen.\n\n- one\n- two\n\n```python\ndef f(a):\n    return a + 1  # why\n```\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n"
)
TICKS = os.sysconf("SC_CLK_TCK")


class Terminal:
    """A program in a pseudo-terminal of 100 columns."""

    def __init__(self, argv: list[str], env: dict[str, str], folder: Path, rows: int = 30) -> None:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, {**env, "TERM": "xterm-256color"})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
        self.seen = b""
        self.bytes = 0

    def read(self, seconds: float = 0.05) -> None:
        """Take what comes within a time."""
        if select.select([self._fd], [], [], seconds)[0]:
            data = os.read(self._fd, 65536)
            self.seen = (self.seen + data)[-200_000:]
            self.bytes += len(data)

    def until(self, mark: str, seconds: float = 120) -> float:
        """When `mark` was seen, in milliseconds since the start."""
        end = time.perf_counter() + seconds
        while mark.encode() not in self.seen:
            assert time.perf_counter() < end, f"no {mark!r}"
            self.read()
        return 1000 * (time.perf_counter() - self.began)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def cpu(self) -> float:
        """Seconds of CPU so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def peak(self) -> float:
        """Peak memory in MiB, of it and the processes below it."""
        return sum(_peak(pid) for pid in _tree(self.pid))

    def echo(self, key: str) -> float:
        """Press a key that stands nowhere on the screen; milliseconds until it does."""
        self.seen = b""
        began = time.perf_counter()
        self.type(key)
        while key.encode() not in self.seen:
            self.read(0.001)
        return 1000 * (time.perf_counter() - began)

    def wait(self, seconds: float) -> None:
        """Read for so long."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            self.read(0.01)

    def after(self, mark: str) -> float:
        """Milliseconds from now until `mark` is written."""
        began = time.perf_counter()
        while mark.encode() not in self.seen:
            self.read(0.001)
            assert time.perf_counter() < began + 60, f"no {mark!r}"
        return 1000 * (time.perf_counter() - began)

    def close(self) -> None:
        """End it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)


def _tree(pid: int) -> list[int]:
    """A process and all below it."""
    below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in below for one in _tree(int(child)))]


def _peak(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def program(folder: Path, url: str) -> Program:
    """A home and a project."""
    return Program(folder / "home", folder / "work", url=url)


def first_frames(folder: Path, rounds: int) -> None:
    """Start to first frame, and to the moment a message can be sent."""
    made = program(folder, "http://127.0.0.1:9")
    bare, first, ready = [], [], []
    for _ in range(rounds):
        for argv, mark, into in ((BARE, "first frame", bare), (WISP, "tarting", first)):
            terminal = Terminal(argv, made.env | {"PYTHONDONTWRITEBYTECODE": ""}, made.project)
            into.append(terminal.until(mark))
            if argv is WISP:
                ready.append(terminal.until("all keys"))
            terminal.close()
    row("first frame, ms", statistics.median(first), statistics.median(bare))
    row("ready for a message, ms", statistics.median(ready), statistics.median(bare))


def replies(folder: Path) -> None:
    """CPU and bytes of whole replies, and the echo of keys meanwhile."""
    for size, rate in ((16_000, 50), (16_000, 500), (200_000, 500)):
        text = (PARAGRAPH * (size // len(PARAGRAPH) + 1))[:size]
        delta = 49
        steps = [{"text": text + "\n\nTHEEND", "delta": delta, "pause": 1 / rate}]
        with ServerThread(steps, lenient=True) as server:
            made = program(folder / f"{size}-{rate}", server.base_url("openai-chat"))
            terminal = Terminal(WISP, made.env | {"PYTHONDONTWRITEBYTECODE": ""}, made.project)
            terminal.until("all keys")
            idle, sent = terminal.cpu(), terminal.bytes
            terminal.type("go\r")
            echoes = []
            for number in range(40 if rate == 50 else 0):
                terminal.wait(0.12)
                echoes.append(terminal.echo(RARE[number % len(RARE)]))
            terminal.until("THEEND")
            name = f"reply of {size // 1000} kB at {rate} fragments a second"
            row(f"{name}: CPU, s", terminal.cpu() - idle)
            row(f"{name}: kB written to the terminal", (terminal.bytes - sent) / 1000)
            if echoes:
                echoes.sort()
                row(f"{name}: echo of a key, median, ms", statistics.median(echoes))
                row(f"{name}: echo of a key, p95, ms", echoes[int(len(echoes) * 0.95)])
            terminal.close()


def conversations(folder: Path) -> None:
    """Opening long conversations, and memory."""
    for count in (0, 10_000, 100_000):
        made = program(folder / str(count), "http://127.0.0.1:9")
        argv = WISP
        if count:
            path = Path(session_path(str(made.home / "state" / "sessions"), str(made.project), "big"))
            make(path, count, 400)
            made.run("sessions", "show", "big")
            argv = [*WISP, "--continue"]
        shown = "It is fine." if count else "all keys"
        for _ in range(2):
            terminal = Terminal(argv, made.env | {"PYTHONDONTWRITEBYTECODE": ""}, made.project)
            opened = terminal.until(shown)
            time.sleep(0.5)
            terminal.read()
            peak = terminal.peak()
            terminal.seen = b""
            began = time.perf_counter()
            if count:
                terminal.type("\x1b[1;5H")
                terminal.until("please look at 0")
            home = 1000 * (time.perf_counter() - began)
            after = terminal.peak()
            terminal.close()
        row(f"open {count:,} messages to the last screen, ms", opened)
        row(f"open {count:,} messages: peak memory, MiB", peak)
        if count:
            row(f"{count:,} messages: to the very beginning, ms", home)
            row(f"{count:,} messages: peak memory after that, MiB", after)


SAVED, SIZE = 10_000, 226
"""Messages of the long session, and about how many bytes of output each has: 5.77 MiB in all."""
OVER = "\x1b]9;4;0;0"
"""What tells the terminal that nothing is worked on any more."""


def six(folder: Path, rounds: int) -> None:
    """What two other interfaces have published of themselves, on the same kind of work: 100 x 24, a reply of 64
    words, a paced reply of 400 words, 10,000 saved messages of 5.77 MiB.  Medians of the rounds."""
    found: dict[str, list[float]] = {}
    short = {"text": " ".join(f"word{number}" for number in range(64)), "delta": 12}
    paced = {
        "text": " ".join(f"word{number}" for number in range(400)) + " THEEND",
        "delta": 8,
        "pause": 0.02,
    }

    def take(name: str, *values: float) -> None:
        found.setdefault(name, []).extend(values)

    for at in range(rounds):
        with ServerThread([short, paced, paced], lenient=True) as server:
            made = program(folder / f"short-{at}", server.base_url("openai-chat"))
            env = made.env | {"PYTHONDONTWRITEBYTECODE": ""}
            terminal = Terminal(WISP, env, made.project, 24)
            take("launch, ms", terminal.until("all keys"))
            terminal.wait(1.0)
            terminal.seen = b""
            terminal.type("go\r")
            first = terminal.after("word0")
            take("first response, ms", first)
            take("settled, ms", first + terminal.after(OVER))
            terminal.wait(0.3)
            take("echo of a key while 400 words stream, ms", *_typed(terminal))
            terminal.close()
            path = Path(session_path(str(made.home / "state" / "sessions"), str(made.project), "big"))
            make(path, SAVED, SIZE)
            made.run("sessions", "show", "big")
            terminal = Terminal([*WISP, "--resume", "big"], env, made.project, 24)
            take("open 10,000 messages, ms", terminal.until("It is fine."))
            terminal.wait(0.5)
            take("the same after 10,000 messages, ms", *_typed(terminal))
            take("peak memory of the process tree, 10,000 messages, MiB", terminal.peak())
            terminal.close()
    print(f"session file: {path.stat().st_size / 2**20:.2f} MiB; load {os.getloadavg()[0]:.1f}")
    for name, values in found.items():
        row(name, statistics.median(values))
        if len(values) > rounds:
            row(f"{name}: p95", sorted(values)[int(len(values) * 0.95)])


def _typed(terminal: Terminal) -> list[float]:
    """Echoes of keys while a paced reply comes; the reply is waited for."""
    terminal.type("go\r")
    echoes = []
    for number in range(40):
        terminal.wait(0.12)
        echoes.append(terminal.echo(RARE[number % len(RARE)]))
    terminal.until("THEEND")
    terminal.wait(0.3)
    terminal.type("\x15")
    return echoes


def row(name: str, value: float, floor: float | None = None) -> None:
    """A line of the table."""
    beside = f" {floor:8.1f} {value / floor:6.2f}" if floor else ""
    print(f"{name:70} {value:9.1f}{beside}", flush=True)


def main() -> None:
    """Everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", choices=("start", "replies", "long", "six"))
    found = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if found.only == "six":
            six(folder, found.rounds)
            return
        print(f"{'':70} {'wisp':>9} {'bare':>8} {'ratio':>6}")
        if found.only in (None, "start"):
            first_frames(folder / "start", found.rounds)
        if found.only in (None, "replies"):
            replies(folder / "replies")
        if found.only in (None, "long"):
            conversations(folder / "long")


if __name__ == "__main__":
    main()
