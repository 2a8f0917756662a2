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
    """A program in a pseudo-terminal of 100 x 30."""

    def __init__(self, argv: list[str], env: dict[str, str], folder: Path) -> None:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, {**env, "TERM": "xterm-256color"})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
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
        """Peak memory in MiB."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) / 1024

    def close(self) -> None:
        """End it."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)


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
                key = RARE[number % len(RARE)]
                end = time.perf_counter() + 0.12
                while time.perf_counter() < end:
                    terminal.read(0.01)
                terminal.seen = b""
                began = time.perf_counter()
                terminal.type(key)
                while key.encode() not in terminal.seen:
                    terminal.read(0.001)
                echoes.append(1000 * (time.perf_counter() - began))
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


def row(name: str, value: float, floor: float | None = None) -> None:
    """A line of the table."""
    beside = f" {floor:8.1f} {value / floor:6.2f}" if floor else ""
    print(f"{name:70} {value:9.1f}{beside}", flush=True)


def main() -> None:
    """Everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", choices=("start", "replies", "long"))
    found = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print(f"{'':70} {'wisp':>9} {'bare':>8} {'ratio':>6}")
        if found.only in (None, "start"):
            first_frames(folder / "start", found.rounds)
        if found.only in (None, "replies"):
            replies(folder / "replies")
        if found.only in (None, "long"):
            conversations(folder / "long")


if __name__ == "__main__":
    main()
