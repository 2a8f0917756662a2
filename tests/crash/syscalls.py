"""A process whose every system call on files is numbered, and dies, fails or is cut short at a chosen one.

`run` forks; in the child the calls of `os` that reach the file system go through here.  A power cut is
modelled strictly: of a file only what was synced is there, of a folder only the names it had when it was
synced itself.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

CHANGING = (
    "open", "write", "pwrite", "ftruncate", "truncate", "fsync", "fdatasync", "close", "rename", "replace",
    "unlink", "remove", "link", "symlink", "mkdir", "rmdir", "chmod", "fchmod", "utime",
)  # fmt: skip
"""Calls that are counted; those that only read change nothing that a kill could leave behind."""
READING = ("pread", "read", "fstat", "lstat", "stat", "listdir", "scandir")
"""Counted too where errors are injected."""


class Fault(NamedTuple):
    """What happens at the call with this number, from 1; 0 for nothing."""

    number: int = 0
    how: str = ""
    """`before` or `after`: SIGKILL.  `cut`: SIGKILL after it and the power is gone.  `ENOSPC`, `EIO`, `EROFS`:
    it fails.  `short`: it writes half."""


class Outcome(NamedTuple):
    """What became of the child."""

    calls: list[str]
    """Names of the calls it made; only of one that nothing happened to."""
    said: list[str]
    """What it acknowledged."""
    killed: bool
    error: str
    """A traceback, where the work raised."""


def run(work: Callable[[Callable[[str], None]], None], fault: Fault, root: Path) -> Outcome:
    """Do `work` in a child process under `fault`; it is handed a way to acknowledge.

    Args:
        root: the folder of which a power cut keeps only what was synced.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(work, fault, root, writing)
    os.close(writing)
    with open(reading, "rb") as file:
        lines = file.read().decode().split("\0")
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    calls = [line[1:] for line in lines if line.startswith("c")]
    said = [line[1:] for line in lines if line.startswith("a")]
    errors = [line[1:] for line in lines if line.startswith("e")]
    return Outcome(calls, said, killed, "".join(errors))


def _child(work: Callable[[Callable[[str], None]], None], fault: Fault, root: Path, pipe: int) -> None:
    tell = os.write
    try:
        calls = _Calls(fault, root)
        calls.install()
        try:
            work(lambda text: (tell(pipe, f"a{text}\0".encode()), None)[1])
        except BaseException:
            tell(pipe, f"e{traceback.format_exc()}\0".encode())
        for name in calls.log if not fault.number else ():
            tell(pipe, f"c{name}\0".encode())
    finally:
        os._exit(0)


class _Calls:
    """The calls of one child."""

    def __init__(self, fault: Fault, root: Path) -> None:
        self.fault = fault
        self.root = str(root)
        self.log: list[str] = []
        self.real = {name: getattr(os, name) for name in (*CHANGING, *READING)}
        self.synced: dict[int, bytes] = {}
        self.names: dict[str, dict[str, int]] = {}
        self.quiet = False

    def install(self) -> None:
        for where, folders, files in os.walk(self.root):
            self.names[where] = {n: os.lstat(os.path.join(where, n)).st_ino for n in (*folders, *files)}
            for name in files:
                self.synced[os.lstat(os.path.join(where, name)).st_ino] = Path(where, name).read_bytes()
        names = CHANGING if self.fault.how not in ("EIO", "EROFS") else (*CHANGING, *READING)
        for name in names:
            setattr(os, name, self._wrapped(name))
        plain = io.open

        def opened(file: Any, *arguments: Any, **named: Any) -> Any:
            if isinstance(file, int):
                return plain(file, *arguments, **named)
            return self._wrapped_call("open", lambda: plain(file, *arguments, **named))

        builtins.open = opened  # type: ignore[assignment]

    def _wrapped(self, name: str) -> Callable[..., Any]:
        real = self.real[name]

        def call(*arguments: Any, **named: Any) -> Any:
            if self.fault.how == "short" and name in ("write", "pwrite") and not self.quiet:
                data = bytes(arguments[1])
                if len(self.log) + 1 == self.fault.number and len(data) > 1:
                    arguments = (arguments[0], data[: len(data) // 2], *arguments[2:])
            result = self._wrapped_call(name, lambda: real(*arguments, **named))
            if name in ("fsync", "fdatasync") and not self.quiet:
                self._was_synced(arguments[0])
                if self._now("cut"):
                    self._cut()
            return result

        return call

    def _wrapped_call(self, name: str, real: Callable[[], Any]) -> Any:
        if self.quiet:
            return real()
        self.log.append(name)
        if self._now("before"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault.how in ("ENOSPC", "EIO", "EROFS") and self._now(self.fault.how) and name != "close":
            raise OSError(getattr(errno, self.fault.how), os.strerror(getattr(errno, self.fault.how)))
        try:
            return real()
        finally:  # it may also have failed by itself, as for a name that is not there
            if self._now("after"):
                os.kill(os.getpid(), signal.SIGKILL)
            if self._now("cut") and name not in ("fsync", "fdatasync"):
                self._cut()

    def _now(self, how: str) -> bool:
        return len(self.log) == self.fault.number and self.fault.how == how

    def _was_synced(self, descriptor: int) -> None:
        self.quiet = True
        try:
            path = os.readlink(f"/proc/self/fd/{descriptor}")
            if not path.startswith(self.root):
                return
            if os.path.isdir(path):
                self.names[path] = {n: os.lstat(os.path.join(path, n)).st_ino for n in os.listdir(path)}
            else:
                self.synced[os.fstat(descriptor).st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()
        finally:
            self.quiet = False

    def _cut(self) -> None:
        """Leave beside the folder what a disk would hold, and die."""
        self.quiet = True
        inodes = {os.lstat(self.root).st_ino: self.root}
        for where, folders, _ in os.walk(self.root):
            inodes |= {os.lstat(os.path.join(where, n)).st_ino: os.path.join(where, n) for n in folders}
        left = self.root + ".left"
        shutil.rmtree(left, ignore_errors=True)
        self._rebuild(self.root, left, inodes)
        os.kill(os.getpid(), signal.SIGKILL)

    def _rebuild(self, where: str, to: str, inodes: dict[int, str]) -> None:
        os.mkdir(to, 0o700)
        for name, inode in self.names.get(where, {}).items():
            if inode in inodes:
                self._rebuild(inodes[inode], os.path.join(to, name), inodes)
            else:
                path = Path(to, name)
                path.write_bytes(self.synced.get(inode, b""))
                path.chmod(0o600)
