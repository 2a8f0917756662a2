"""The real program on the screen of a real terminal emulator (tmux), for tests that look at it as a person does."""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable

from process.program import Program

LONG = 45.0
"""Seconds that a loaded machine may need for anything."""
_NUMBERS = itertools.count()

needs_tmux = shutil.which("tmux") is None


class Screen:
    """`wisp` in a pane of its own; a context manager.

    Args:
        program: its home and folder.
        args: of the command line.
        width, height: cells.
        env: more environment variables.
        argv: another program in the place of `wisp`.
    """

    def __init__(
        self,
        program: Program,
        *args: str,
        width: int = 100,
        height: int = 30,
        env: dict[str, str] | None = None,
        argv: list[str] | None = None,
    ) -> None:
        self._socket = f"wisp-test-{os.getpid()}-{next(_NUMBERS)}"
        given = {**program.env, "TERM": "screen-256color", "COLORTERM": "truecolor", **(env or {})}
        words = [
            "env",
            "-i",
            *(f"{name}={value}" for name, value in given.items()),
            *(argv or program.argv),
            *args,
        ]
        after = "; echo EXIT=$?; trap '' INT; stty -a | grep -ow -- '-\\?icanon'; sleep 600"
        self._tmux(
            "new-session", "-d", "-x", str(width), "-y", str(height), "-c", str(program.project),
            shlex.join(words) + after,
        )  # fmt: skip

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *exc: object) -> None:
        self._tmux("kill-server")

    def _tmux(self, *args: str, data: bytes | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, "-f", "/dev/null", *args],
            input=data,
            capture_output=True,
            check=False,
            timeout=LONG,
        )
        return done.stdout.decode("utf-8", "replace")

    def text(self, *, styled: bool = False) -> str:
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p", *(["-e", "-N"] if styled else []))

    def wait(self, wanted: str | Callable[[str], object], seconds: float = LONG) -> str:
        """The screen as soon as it has `wanted`, or `wanted` says so of it."""
        test = wanted if callable(wanted) else lambda shown: wanted in shown
        end = time.monotonic() + seconds
        while not test(shown := self.text()):
            assert time.monotonic() < end, f"not seen: {wanted!r}\n{shown}"
            time.sleep(0.05)
        return shown

    def gone(self, unwanted: str) -> str:
        """The screen as soon as it no longer has `unwanted`."""
        return self.wait(lambda shown: unwanted not in shown)

    def keys(self, *names: str) -> None:
        """Press keys by their names in tmux."""
        self._tmux("send-keys", *names)

    def type(self, text: str) -> None:
        """Type characters as they are."""
        self._tmux("send-keys", "-l", text)

    def paste(self, text: str) -> None:
        """Paste in brackets, as a terminal does."""
        self._tmux("load-buffer", "-", data=text.encode())
        self._tmux("paste-buffer", "-p", "-r")

    def cursor(self) -> tuple[int, int]:
        """Column and row of the terminal's own cursor."""
        x, y = self._tmux("display-message", "-p", "#{cursor_x},#{cursor_y}").strip().split(",")
        return int(x), int(y)

    def resize(self, width: int, height: int) -> None:
        """Give the terminal another size."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def pid(self) -> int:
        """The program's process."""
        shell = int(self._tmux("display-message", "-p", "#{pane_pid}"))
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            with open(f"/proc/{shell}/task/{shell}/children") as file:
                if children := file.read().split():
                    return int(children[0])
            time.sleep(0.05)
        raise AssertionError("the program does not run")

    def ready(self) -> str:
        """Wait until a first message can be written."""
        return self.wait("What shall be done?")

    def ended(self) -> tuple[int, str]:
        """Its exit code, and `icanon` where the terminal reads lines again (`-icanon` where not)."""
        shown = self.wait(lambda text: "EXIT=" in text and "icanon" in text)
        code = shown.split("EXIT=", 1)[1].split()[0]
        return int(code), shown.split("EXIT=", 1)[1].split()[1]
