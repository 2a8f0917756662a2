"""A day at the screen, fast-forwarded: thousands of turns in a real terminal, and what memory becomes.

    python scripts/soak_screen.py [--turns N]

The real program in a pseudo-terminal, a scripted model, the real tools. Every prompt takes ten turns (reading,
searching, editing, commands, an answer in Markdown); every 250 turns a new conversation is begun, between them
the screen is scrolled, searched and resized. Ends with 1 where memory grew by more than 50 MiB between the first
tenth and the end.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from process.program import Program
from process.server import ServerThread

PER_PROMPT, PER_CONVERSATION, ALLOWED = 10, 250, 50.0
ANSWER = """## Done

It *works* now, as `test_{number}` shows:

1. the file was read
2. one line was changed

```python
def f(a, b):
    return a + b  # {number}
```

| before | after |
|---|---|
| {number} | 5 |
"""


def step(number: int) -> dict[str, Any]:
    """What the model says in turn `number`, counted from 0."""
    kind = number % PER_PROMPT
    if kind == PER_PROMPT - 1:
        return {"text": ANSWER.format(number=number) + f"\n\nANSWER{number // PER_PROMPT}END"}
    if kind in (0, 1, 5):
        call = {"name": "read", "arguments": {"path": "long.txt", "limit": 100}}
    elif kind in (2, 6):
        call = {"name": "grep", "arguments": {"pattern": "line 7"}}
    elif kind == 3:
        old, new = ("a - b", "a + b") if number // PER_PROMPT % 2 == 0 else ("a + b", "a - b")
        call = {
            "name": "edit",
            "arguments": {"path": "calculator.py", "edits": [{"old_text": old, "new_text": new}]},
        }
    else:
        call = {"name": "bash", "arguments": {"command": f"seq {number % 50 + 50}"}}
    return {"text": f"Step {number}.", "calls": [call]}


class Terminal:
    """The program in a pseudo-terminal."""

    def __init__(self, program: Program) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.chdir(program.project)
            env = {**program.env, "TERM": "xterm-256color"}
            if "PYTHONPATH" in os.environ:  # a copy of the source that nobody edits meanwhile
                env["PYTHONPATH"] = os.environ["PYTHONPATH"]
            os.execvpe(program.argv[0], [*program.argv, "--permission-mode", "full"], env)
        self.resize(100, 30)
        self._seen = b""

    def resize(self, width: int, height: int) -> None:
        """Another size."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def until(self, mark: str, seconds: float = 600) -> None:
        """Read until `mark` was seen."""
        end = time.monotonic() + seconds
        while mark.encode() not in self._seen:
            if time.monotonic() > end:
                raise SystemExit(f"no {mark!r} in {seconds} s; the end of what came: {self._seen[-2000:]!r}")
            if select.select([self._fd], [], [], 0.1)[0]:
                self._seen = (self._seen + os.read(self._fd, 65536))[-100_000:]
        self._seen = b""

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def resident(self) -> float:
        """MiB in memory now."""
        with open(f"/proc/{self.pid}/status") as file:
            return int(file.read().split("VmRSS:")[1].split()[0]) / 1024

    def close(self) -> None:
        """End it."""
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def main() -> None:
    """Run the day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5000)
    turns = parser.parse_args().turns
    began, samples = time.monotonic(), list[tuple[int, float]]()
    steps = [step(number) for number in range(turns)]
    with tempfile.TemporaryDirectory() as place, ServerThread(steps, lenient=True) as server:
        program = Program(Path(place, "home"), Path(place, "work"), url=server.base_url("openai-chat"))
        (program.project / "calculator.py").write_text("def add(a, b):\n    return a - b\n")
        (program.project / "long.txt").write_text("".join(f"line {n}\n" for n in range(3000)))
        terminal = Terminal(program)
        terminal.until("all keys")
        for prompt in range(turns // PER_PROMPT):
            done = prompt * PER_PROMPT
            if done and done % PER_CONVERSATION == 0:
                terminal.type("/new\r")
                terminal.until("new conversation")
            terminal.type(f"please do number {prompt}\r")
            terminal.until(f"ANSWER{prompt}END")
            server.requests.clear()
            time.sleep(0.05)
            if prompt % 10 == 0:
                terminal.type("\x1b[5~" * 5 + "\x1b[1;5F")
                terminal.resize(60 + prompt % 70, 20 + prompt % 30)
            if (done + PER_PROMPT) % max(PER_PROMPT, turns // 20) == 0:
                samples.append((done + PER_PROMPT, terminal.resident()))
                print(f"{done + PER_PROMPT:6} turns  {samples[-1][1]:7.1f} MiB", flush=True)
        terminal.close()
    first = next(size for at, size in samples if at >= turns // 10)
    grown = samples[-1][1] - first
    minutes = (time.monotonic() - began) / 60
    print(
        f"{turns} turns in {minutes:.1f} min: {first:.1f} MiB after a tenth, {samples[-1][1]:.1f} MiB at the end"
    )
    raise SystemExit(grown > ALLOWED)


if __name__ == "__main__":
    main()
