"""Commands in threads of their own: waited for, or long-lived and ended with their owner at the latest.

One that is waited for can be let go on as a long-lived one.

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
        self.fault: BaseException | None = None
        """What starting or running it raised."""
        self.heard: Callable[[bytes], object] | None = None
        """Told of every piece of output while somebody waits for its end."""
        self._stop = StopToken()
        self._changed = threading.Condition()
        self._unread = bytearray()
        self._skipped = 0
        self._input = -1

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.ending is None and not self.trouble

    def begin(self, start: Start, ended: Callable[[Background], object], *, listens: bool = True) -> None:
        """Start it in a thread of its own; `ended` is called there when it is over.

        Args:
            listens: it gets an input that can be written to.
        """
        stdin = -1
        if listens:
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

    def wait(self, seconds: float | None) -> bool:
        """Wait until it has ended or got a name, at most so long; False when neither came."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.running or bool(self.name), seconds)

    def go_on(self, name: str) -> None:
        """Nobody waits for its end any more: it is known by `name` from here on."""
        with self._changed:
            self.name, self.heard = name, None
            self._changed.notify_all()

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
            self.fault, trouble = exc, str(exc)
        except Stopped as exc:
            self.fault, trouble = exc, "stopped before it began"
        except BaseException as exc:  # nobody above: the thread's owner reads it from here
            self.fault, trouble = exc, f"a fault of wisp: {exc!r}"
            if self.name:
                raise
        finally:
            with self._changed:
                self.spool.close()
                self.ending, self.trouble = ending, trouble or ("" if ending else "it ended unseen")
                for descriptor in (stdin, self._input):
                    if descriptor >= 0:
                        os.close(descriptor)
                self._input = -1
                self._changed.notify_all()
            ended(self)

    def _take(self, data: bytes) -> None:
        with self._changed:
            self.spool.write(data)
            if self.heard is not None:
                self.heard(data)
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
        self._watched: list[Background] = []
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

    def watch(
        self,
        command: str,
        spool: Spool,
        start: Start,
        *,
        boxed: bool,
        seconds: float,
        heard: Callable[[bytes], object],
    ) -> tuple[Background, bool]:
        """Run a command and wait for its end: what became of it, and whether `seconds` were over first.

        Where it was let go on meanwhile it runs, has a name and is one of `all`.

        Args:
            heard: told of its output as it comes, in its thread; not once it was let go on.
        """
        made = Background("", command, spool, boxed)
        made.heard = heard
        self._watched.append(made)
        try:
            made.begin(start, self._over, listens=False)
            late = not made.wait(seconds)
            if late:
                made._stop.stop()
                made.wait(None)
        finally:
            self._watched.remove(made)
        return made, late

    def let_go(self) -> list[str]:
        """Have the commands that somebody waits for go on in the background; their names there."""
        found = []
        for one in self._watched:
            if one.running and not one.name and sum(other.running for other in self._all.values()) < MOST:
                name = f"p{len(self._all) + 1}"
                self._all[name] = one
                one.go_on(name)
                found.append(name)
        return found

    def _over(self, one: Background) -> None:
        if one.name:
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
