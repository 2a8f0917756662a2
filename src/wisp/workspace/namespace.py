"""The first process of a process namespace: when it is gone, everything in the namespace is.

Held by a handle, not by its number, which the system may give to somebody else.  Knows nothing of what made
the namespace or runs in it.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable


class Boxed:
    """A launcher that puts a program into a process namespace and writes `"child-pid": N` to `write` first.

    Both ends of the pipe are closed by whoever made it, `write` as soon as the launcher has it.

    Args:
        line: our end and the launcher's of what is its standard error; closed as a pipe's would be.
        empty: whether nothing but the first process and a watcher of ours was left when the program ended.
            Then its end need not be waited for: taking the namespaces apart takes the system longer than
            most commands.
        started: called when the launcher runs, to give it what it goes on with.
        also: a further pipe of the program's, closed with the others, and what takes what comes from it.
    """

    def __init__(
        self,
        read: int,
        write: int,
        line: tuple[int, int],
        empty: Callable[[], bool],
        started: Callable[[], object],
        also: tuple[int, int, Callable[[bytes], object]] | None = None,
    ) -> None:
        self.read, self.empty, self.started, self.line = read, empty, started, line
        self.given = [write, also[1]] if also else [write]
        self.sinks = {also[0]: also[2]} if also else {}
        self._handle = -1
        self.pid = 0
        """Of the first process; 0 until it was learned."""

    def learn(self) -> None:
        """Take hold of the first process, from what can be read now; once is enough."""
        if self.pid:
            return
        os.set_blocking(self.read, False)
        try:
            pid = int(os.read(self.read, 4096).partition(b'"child-pid":')[2].split()[0].strip(b",}"))
            self.pid = pid
            self._handle = os.pidfd_open(pid)
        except (AttributeError, OSError, ValueError, IndexError):
            return  # not said yet, or gone already

    def end(self) -> bool:
        """End everything in the namespace; whether there was anything to end."""
        self.learn()
        if self._handle < 0:
            return False
        try:
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        except OSError:
            return False
        return True

    def wait(self, seconds: float) -> bool:
        """Wait until all of it is gone; whether it is."""
        if self._handle < 0:
            return True
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def close(self) -> None:
        """Let go."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
