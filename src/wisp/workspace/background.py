"""Long-lived commands: started, listened to, spoken to, and ended with their owner at the latest.

Each has a thread of its own, because a launcher in a sandbox dies with the thread that started it.  Knows
nothing of how a command is started or what it is for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from wisp.workspace.errors import Refused
from wisp.workspace.process import Ending
from wisp.workspace.spool import Spool
from wisp.workspace.stop import Stopped, StopToken

MOST = 16
"""Commands at once."""
UNREAD = 50_000
"""Bytes kept for the next reading; what is older is only in the log."""
_SETTLE = 6.0


class Start(Protocol):
    """Runs a command to its end: by a stop token, to an output function, from a descriptor for its input."""

    def __call__(self, stop: StopToken, output: Callable[[bytes], object], stdin: int) -> Ending:
        """Blocking; raises `Refused` when it cannot be started."""
        ...


class News(NamedTuple):
    """What a command said since the last reading."""

    data: bytes
    skipped: int
    """Bytes before `data` that were not kept."""


class Background:
    """One long-lived command."""

    def __init__(self, name: str, command: str, spool: Spool, boxed: bool) -> None:
        self.name, self.command, self.spool, self.boxed = name, command, spool, boxed
        self.ending: Ending | None = None
        self.trouble = ""
        """Why it could not be started or kept; empty when it could."""
        self.reported = False
        """Whether somebody was told that it ended."""
        self._stop = StopToken()
        self._changed = threading.Condition()
        self._unread = bytearray()
        self._skipped = 0
        self._input = -1

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.ending is None and not self.trouble

    def begin(self, start: Start, ended: Callable[[Background], object]) -> None:
        """Start it in a thread of its own; `ended` is called there when it is over."""
        stdin, self._input = os.pipe()
        os.set_blocking(self._input, False)
        threading.Thread(
            target=self._live, args=(start, stdin, ended), name=f"wisp-{self.name}", daemon=True
        ).start()

    def read(self, wait: float, stop: StopToken) -> News:
        """What is new; waits up to `wait` seconds for something or for its end."""
        with self._changed:
            withdraw = stop.on_stop(self._wake)
            try:
                self._changed.wait_for(lambda: self._unread or not self.running or stop.stopped, wait)
            finally:
                withdraw()
            news = News(bytes(self._unread), self._skipped)
            self._unread.clear()
            self._skipped = 0
            return news

    def write(self, data: bytes) -> int:
        """Give it input; how many bytes it took.

        Raises:
            Refused: it has ended or reads no more.
        """
        with self._changed:
            if not self.running or self._input < 0:
                raise Refused("not_running", f"{self.name} has ended; it takes no input")
            try:
                return os.write(self._input, data)
            except BlockingIOError:
                return 0
            except OSError:
                raise Refused("not_running", f"{self.name} does not read its input any more") from None

    def stop(self, wait: float = _SETTLE) -> bool:
        """End it and everything it started; whether that is done."""
        self._stop.stop()
        with self._changed:
            return self._changed.wait_for(lambda: not self.running, wait)

    def _live(self, start: Start, stdin: int, ended: Callable[[Background], object]) -> None:
        ending, trouble = None, ""
        try:
            ending = start(self._stop, self._take, stdin)
        except Refused as exc:
            trouble = str(exc)
        except Stopped:
            trouble = "stopped before it began"
        except BaseException as exc:  # nobody above: the thread's owner reads it from here
            trouble = f"a fault of wisp: {exc!r}"
            raise
        finally:
            os.close(stdin)
            with self._changed:
                self.spool.close()
                self.ending, self.trouble = ending, trouble or ("" if ending else "it ended unseen")
                os.close(self._input)
                self._input = -1
                self._changed.notify_all()
            ended(self)

    def _take(self, data: bytes) -> None:
        with self._changed:
            self.spool.write(data)
            self._unread += data
            if len(self._unread) > UNREAD:
                over = len(self._unread) - UNREAD
                self._skipped += over
                del self._unread[:over]
            self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


class Backgrounds:
    """All long-lived commands of one conversation; close it at the end."""

    def __init__(self) -> None:
        self._all: dict[str, Background] = {}
        self.on_end: Callable[[Background], object] = lambda one: None
        """Called in some thread when one ended; must not block or raise."""

    def start(self, command: str, spool: Spool, start: Start, *, boxed: bool) -> Background:
        """Start one more; `boxed` says whether it runs in a sandbox.

        Raises:
            Refused: too many are running.
        """
        if sum(one.running for one in self._all.values()) >= MOST:
            raise Refused("too_many", f"{MOST} background commands are running; stop one first")
        made = Background(f"p{len(self._all) + 1}", command, spool, boxed)
        self._all[made.name] = made
        made.begin(start, self._over)
        return made

    def _over(self, one: Background) -> None:
        self.on_end(one)

    def all(self) -> list[Background]:
        """Every one so far, oldest first."""
        return list(self._all.values())

    def find(self, name: str) -> Background:
        """One by its name.

        Raises:
            Refused: there is none of that name.
        """
        if name not in self._all:
            names = ", ".join(self._all) or "none was started"
            raise Refused("not_found", f"there is no background command {name!r}; there are: {names}")
        return self._all[name]

    def ended(self) -> list[Background]:
        """Those that ended and of which nobody was told; they count as told now."""
        found = [one for one in self._all.values() if not one.running and not one.reported]
        for one in found:
            one.reported = True
        return found

    def close(self) -> None:
        """End all of them, together."""
        running = [one for one in self._all.values() if one.running]
        for one in running:
            one._stop.stop()
        for one in running:
            one.stop()
