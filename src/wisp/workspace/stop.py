"""How one thread tells another to stop: a token, and a pipe for what waits for descriptors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable


class Stopped(Exception):
    """Raised inside blocking work once its token is set."""


class StopToken:
    """Set once, from any thread; never unset.

    Work polls `stopped` (or calls `check`) at least every 100 ms, or registers a callback that wakes it.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self.reason = ""

    @property
    def stopped(self) -> bool:
        """Whether the work should end now."""
        return self._event.is_set()

    def stop(self, reason: str = "cancelled") -> None:
        """Ask the work to end; a second call changes nothing.  Callbacks run in the calling thread."""
        with self._lock:
            if self._event.is_set():
                return
            self.reason = reason
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def on_stop(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when stopped; at once if that has happened.  It must not block or raise.

        Returns a function that withdraws it; once that has returned, `callback` may still be running.
        """
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return lambda: self._withdraw(callback)
        callback()
        return lambda: None

    def _withdraw(self, callback: Callable[[], None]) -> None:
        with self._lock:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

    def check(self) -> None:
        """Raise `Stopped` if the work should end."""
        if self._event.is_set():
            raise Stopped(self.reason)

    def wait(self, seconds: float) -> bool:
        """Sleep up to `seconds`; True as soon as stopped."""
        return self._event.wait(seconds)


class Waker:
    """Makes the descriptor `read` readable for a waiting thread; safe after it is closed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def wake(self) -> None:
        """From any thread; again changes nothing."""
        with self._lock:
            if self._write >= 0:
                try:
                    os.write(self._write, b"w")
                except BlockingIOError:
                    pass  # it is awake already

    def close(self) -> None:
        """Give both ends back."""
        with self._lock:
            os.close(self._write)
            os.close(self.read)
            self._write = -1
