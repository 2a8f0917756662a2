"""Output without end in bounded memory: its head, its tail, totals, and all of it in a file.

The file is made only when the output no longer fits, in a private folder the caller gives, and is named by
what it holds once it is whole (`workspace.outputs`).  Knows nothing of what wrote the output.
"""

from __future__ import annotations

import hashlib
import os

from wisp.workspace.outputs import settle

MAX_LOG = 256 * 1024 * 1024


class Spool:
    """Takes pieces of one output stream; used from one thread at a time.

    Args:
        folder: where the log goes; None keeps nothing on disk.
        name: file name of the log while it is written.
        tail_bytes: how much of the end is kept in memory.
        tail_lines: how many lines count as all of it; more makes a log.
        log_bytes: size cap of the log.
    """

    def __init__(
        self,
        folder: str | None,
        name: str,
        *,
        head_bytes: int = 4096,
        tail_bytes: int = 50_000,
        tail_lines: int = 2000,
        log_bytes: int = MAX_LOG,
    ) -> None:
        self.total = 0
        """Bytes that came in."""
        self.newlines = 0
        self.trouble = ""
        """Why the log is not complete; empty when it is, or when none was needed."""
        self._folder, self._name = folder, name
        self._head_bytes, self._tail_bytes, self._tail_lines = head_bytes, tail_bytes, tail_lines
        self._room = log_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._fd = -1
        self._last = b""
        self._log, self._told = "", False
        self._digest = hashlib.sha256()

    @property
    def log(self) -> str:
        """Path of the log; empty while there is none.  A path that was read once stays good."""
        self._told = self._told or self._fd >= 0
        return self._log

    def write(self, data: bytes) -> None:
        """Take the next piece.  Never raises: a full disk is noted in `trouble`."""
        if not data:
            return
        kept_all = self.total == len(self._tail)
        self.total += len(data)
        self.newlines += data.count(b"\n")
        self._last = data[-1:]
        if len(self._head) < self._head_bytes:
            self._head += data[: self._head_bytes - len(self._head)]
        if self._fd < 0 and kept_all and self._overflows() and not self.trouble:
            self._begin()
        if self._fd >= 0:
            self._append(data)
        self._tail += data[-2 * self._tail_bytes :]
        if len(self._tail) > 2 * self._tail_bytes and (self._fd >= 0 or self.trouble):
            del self._tail[: len(self._tail) - self._tail_bytes]

    @property
    def lines(self) -> int:
        """Lines so far; an unfinished last one counts."""
        return self.newlines + (1 if self.total and self._last != b"\n" else 0)

    @property
    def head(self) -> bytes:
        """The first bytes."""
        return bytes(self._head)

    def tail(self) -> tuple[bytes, int]:
        """The end, at most as many whole lines and bytes as allowed, and how many lines it holds.

        A single line longer than allowed is cut at its start.
        """
        data = bytes(self._tail[-self._tail_bytes :])
        if len(data) < self.total and not self._starts_line(len(data)):
            first = data.find(b"\n")
            if 0 <= first < len(data) - 1:
                data = data[first + 1 :]
        count = data.count(b"\n") + (0 if data.endswith(b"\n") or not data else 1)
        if count > self._tail_lines:
            at = len(data) - 1 if data.endswith(b"\n") else len(data)
            for _ in range(self._tail_lines):
                at = data.rfind(b"\n", 0, at)
            data, count = data[at + 1 :], self._tail_lines
        return data, count

    @property
    def cut(self) -> bool:
        """Whether `tail` is less than everything."""
        return self.total > self._tail_bytes or self.lines > self._tail_lines

    def close(self) -> None:
        """No more pieces will come: what was kept gets the name that says what it holds."""
        if self._fd < 0:
            return
        try:
            os.fdatasync(self._fd)
            self._log = settle(self._log, self._digest.hexdigest(), told=self._told)
        except OSError as exc:
            self.trouble = self.trouble or f"the log is not certain to last: {exc.strerror}"
        finally:
            os.close(self._fd)
            self._fd = -1

    def _overflows(self) -> bool:
        return self.cut

    def _starts_line(self, kept: int) -> bool:
        before = len(self._tail) - kept
        return before > 0 and self._tail[before - 1] == 0x0A

    def _begin(self) -> None:
        """Open the log and put into it what came before."""
        if self._folder is None:
            self.trouble = "no folder for logs was given"
            return
        path = os.path.join(self._folder, self._name)
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
        except OSError as exc:
            self.trouble = f"the log {path} could not be made: {exc.strerror}"
            return
        self._log = path
        self._append(bytes(self._tail))

    def _append(self, data: bytes) -> None:
        piece = data[: self._room]
        view = memoryview(piece)
        try:
            while view:
                done = os.write(self._fd, view)
                self._digest.update(view[:done])
                self._room -= done
                view = view[done:]
        except OSError as exc:
            self.trouble = f"the log stops where the file system said: {exc.strerror}"
        else:
            if len(piece) < len(data):
                self.trouble = "the log reached its size limit and holds only the beginning"
        if self.trouble:
            self.close()
