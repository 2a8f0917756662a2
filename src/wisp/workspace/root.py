"""The granted folders, and how a path becomes an open file without ever leaving them.

Roots are held as directory handles from the start.  Every path is resolved below such a handle: by the
kernel (`openat2`) where it can, else part by part without following links.  Knows nothing of contents.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Sequence
from typing import Literal, NamedTuple

from wisp.workspace.errors import Refused, refusal, shown
from wisp.workspace.handles import openat2, where, works

Resolver = Literal["auto", "openat2", "walk"]

MAX_PATH = 4096
"""Longest path accepted, in bytes."""
_MAX_NAME = 255
_MAX_HOPS = 40
_PATH_ONLY: int = getattr(os, "O_PATH", os.O_RDONLY)
_DIRECTORY = _PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LOOK = _PATH_ONLY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_UNREAL = ("/proc", "/dev", "/sys")


class Root(NamedTuple):
    """One granted folder."""

    path: str
    """Its real path when it was granted."""
    given: str
    """How it was named; may differ from `path` by links."""
    fd: int


class Place(NamedTuple):
    """A path, resolved as far as words go: nothing has been opened."""

    root: Root | None
    """The granted folder it lies in; None when it lies outside all of them."""
    relative: str
    """Below `root` (or below `/`), without `.` and `..`; empty for the folder itself."""

    @property
    def inside(self) -> bool:
        """Whether it lies beneath a granted folder."""
        return self.root is not None

    @property
    def path(self) -> str:
        """Absolute."""
        base = self.root.path if self.root else "/"
        return os.path.join(base, self.relative) if self.relative else base

    @property
    def parts(self) -> list[str]:
        """The names below the root."""
        return self.relative.split("/") if self.relative else []


class Opened(NamedTuple):
    """A regular file, open for reading; whoever has it closes `fd`."""

    fd: int
    path: str
    """Where it really is, links resolved."""
    stat: os.stat_result


class Workspace:
    """The granted folders; the first is the working directory.

    Raises:
        Refused: a folder does not exist or cannot be opened.
    """

    def __init__(self, cwd: str, extra: Sequence[str] = (), *, resolver: Resolver = "auto") -> None:
        self._locks: dict[str, _PathLock] = {}
        self._guard = threading.Lock()
        self.swept: set[tuple[int, int]] = set()
        self.roots: tuple[Root, ...] = ()
        self._top = os.open("/", _DIRECTORY)
        try:
            for given in (cwd, *extra):
                self.roots += (_grant(given),)
        except BaseException:
            self.close()
            raise
        self._resolver = resolver

    @property
    def cwd(self) -> str:
        """Real path of the working directory."""
        return self.roots[0].path

    @property
    def resolver(self) -> Resolver:
        """How paths are resolved; found out at the first use."""
        if self._resolver == "auto":
            self._resolver = "openat2" if works(self._top) else "walk"
        return self._resolver

    def close(self) -> None:
        """Give the handles back."""
        for fd in (self._top, *(root.fd for root in self.roots)):
            if fd >= 0:
                os.close(fd)
        self._top, self.roots = -1, ()

    def place(self, path: str) -> Place:
        """Where `path` (relative to the working directory, or absolute) lies.  `..` is taken by words.

        A path outside every root comes back with links resolved and `inside` false; opening it is for
        whoever has been allowed to.

        Raises:
            Refused: it can never name a file: empty, NUL, too long, a device or process entry.
        """
        _check_words(path)
        whole = os.path.normpath(os.path.join(self.cwd, path))
        if whole.startswith("//"):
            whole = whole[1:]
        found = self._beneath(whole)
        if found:
            return found
        _check_real(whole, path)
        real = os.path.realpath(whole)
        _check_real(real, path)
        return self._beneath(real) or Place(None, real.lstrip("/"))

    def open_file(self, place: Place) -> Opened:
        """Open for reading; links are followed only while they stay inside, outside not at all.

        Raises:
            Refused: missing, not a regular file, or a link leads out.
        """
        fd = self.open(place, _READ, links=place.inside)
        try:
            found = os.fstat(fd)
            if stat.S_ISDIR(found.st_mode):
                raise Refused("is_directory", f"{shown(place.path)} is a directory")
            if not stat.S_ISREG(found.st_mode):
                raise Refused("not_regular", f"{shown(place.path)} is not a regular file")
            return Opened(fd, where(fd, place.path), found)
        except BaseException:
            os.close(fd)
            raise

    def open_directory(self, place: Place) -> tuple[int, str]:
        """A readable handle of a directory, and where it really is."""
        fd = self.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, links=place.inside)
        return fd, where(fd, place.path)

    def open_parent(self, place: Place, *, create: bool = False) -> tuple[int, str]:
        """A handle of the directory that holds `place`, and the name in it; no link is followed.

        Args:
            create: make missing directories on the way.
        """
        parts = place.parts
        if not parts:
            raise Refused("is_directory", f"{shown(place.path)} is a directory")
        above = Place(place.root, "/".join(parts[:-1]))
        try:
            return self.open(above, _DIRECTORY, links=False), parts[-1]
        except Refused as exc:
            if not create or exc.code != "not_found":
                raise
        return self._make(above), parts[-1]

    def status(self, place: Place) -> os.stat_result:
        """What is there, following links as `open_file` would."""
        fd = self.open(place, _LOOK, links=place.inside)
        try:
            return os.fstat(fd)
        finally:
            os.close(fd)

    def real(self, place: Place) -> str:
        """Where `place` really is, links resolved; its own path when nothing is there yet.

        Raises:
            Refused: a link leads out, loops, or a directory may not be entered.
        """
        try:
            fd = self.open(place, _LOOK, links=place.inside)
        except Refused as exc:
            if exc.code == "not_found":
                return place.path
            raise
        try:
            return where(fd, place.path)
        finally:
            os.close(fd)

    def lock(self, path: str) -> _PathLock:
        """A lock for writing one canonical path, to be used with `with`."""
        with self._guard:
            found = self._locks.get(path)
            if found is None:
                found = self._locks[path] = _PathLock(self, path)
            found.users += 1
            return found

    def release(self, lock: _PathLock) -> None:
        """Forget a lock nobody waits for."""
        with self._guard:
            lock.users -= 1
            if not lock.users:
                self._locks.pop(lock.path, None)

    def open(self, place: Place, flags: int, *, links: bool) -> int:
        """Open `place` with `flags`, never leaving its root.

        Args:
            links: follow symbolic links that stay inside; otherwise any link refuses.
        """
        base = place.root.fd if place.root else self._top
        try:
            if self.resolver == "openat2" and place.relative:
                fd = openat2(base, place.relative, flags, links=links)
                if fd is not None:
                    return fd
            return self._walk(base, place, flags, links)
        except OSError as exc:
            if exc.errno == errno.ENOTDIR and flags & os.O_DIRECTORY:
                raise Refused("not_directory", f"{shown(place.path)} is not a directory") from None
            raise refusal(exc, place.path) from None

    def _beneath(self, whole: str) -> Place | None:
        best: Place | None = None
        for root in self.roots:
            for base in (root.path, root.given):
                rest = _below(whole, base)
                if rest is not None and (best is None or len(rest) < len(best.relative)):
                    best = Place(root, rest)
        return best

    def _walk(self, base: int, place: Place, flags: int, links: bool) -> int:
        """Part by part, each opened without following; links are read and walked in turn."""
        todo = place.parts[::-1]
        stack = [os.dup(base)]
        hops = 0
        try:
            if not todo:
                return os.open(".", flags, dir_fd=stack[-1])
            while todo:
                name = todo.pop()
                if name in ("", "."):
                    continue
                if name == "..":
                    if len(stack) == 1:
                        raise _leads_out(place, "..")
                    os.close(stack.pop())
                    continue
                if stat.S_ISLNK(os.stat(name, dir_fd=stack[-1], follow_symlinks=False).st_mode):
                    target = os.readlink(name, dir_fd=stack[-1])
                    hops += 1
                    if not links:
                        raise Refused("is_link", _link_words(place, name, target))
                    if hops > _MAX_HOPS:
                        raise OSError(errno.ELOOP, "loop")
                    todo += self._follow(place, target, stack)
                    continue
                if any(part not in ("", ".") for part in todo):
                    stack.append(os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=stack[-1]))
                    continue
                return os.open(name, flags | os.O_NOFOLLOW, dir_fd=stack[-1])
            return os.open(".", flags, dir_fd=stack[-1])
        finally:
            for fd in stack:
                os.close(fd)

    def _follow(self, place: Place, target: str, stack: list[int]) -> list[str]:
        """The parts a link adds, last first; an absolute one starts again at its own root."""
        if not target.startswith("/"):
            return target.split("/")[::-1]
        for root in self.roots:
            rest = _below(target, root.path)
            if rest is not None:
                while stack:
                    os.close(stack.pop())
                stack.append(os.dup(root.fd))
                return rest.split("/")[::-1]
        raise _leads_out(place, target)

    def _make(self, place: Place) -> int:
        """Open the directory `place`, creating what is missing, following nothing."""
        fd = os.dup(place.root.fd if place.root else self._top)
        try:
            for name in place.parts:
                try:
                    os.mkdir(name, dir_fd=fd)
                except FileExistsError:
                    pass
                below = os.open(name, _DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                os.close(fd)
                fd = below
            return fd
        except OSError as exc:
            os.close(fd)
            raise refusal(exc, place.path) from None


class _PathLock:
    def __init__(self, workspace: Workspace, path: str) -> None:
        self.path = path
        self.users = 0
        self._workspace = workspace
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
        self._workspace.release(self)


def _grant(given: str) -> Root:
    _check_words(given)
    try:
        given = os.path.normpath(given if given.startswith("/") else os.path.join(os.getcwd(), given))
        real = os.path.realpath(given, strict=True)
        return Root(real, given, os.open(real, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except OSError as exc:
        if exc.errno == errno.ENOTDIR:
            raise Refused("not_directory", f"{shown(given)} is not a directory") from None
        raise refusal(exc, given) from None


def _check_words(path: str) -> None:
    if not path:
        raise Refused("invalid_path", "the path is empty")
    if "\0" in path:
        raise Refused("invalid_path", "the path holds a NUL character")
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        raise Refused("invalid_path", "the path cannot be encoded for this system") from None
    if len(raw) >= MAX_PATH or any(len(part) > _MAX_NAME for part in raw.split(b"/")):
        raise Refused("invalid_path", f"the path is too long ({len(raw)} bytes)")


def _check_real(path: str, given: str) -> None:
    if any(_below(path, top) is not None for top in _UNREAL):
        raise Refused("not_regular", f"{shown(given)} is a device or a view of a process, not a file")


def _below(path: str, base: str) -> str | None:
    """`path` relative to `base`, or None when it is not beneath it.  A prefix of a name does not count."""
    if path == base:
        return ""
    base = base if base.endswith("/") else base + "/"
    return path[len(base) :].strip("/") if path.startswith(base) else None


def _leads_out(place: Place, target: str) -> Refused:
    return Refused(
        "outside", f"{shown(place.path)} leads through a link outside the granted folders ({shown(target)})"
    )


def _link_words(place: Place, name: str, target: str) -> str:
    at = "" if place.parts and name == place.parts[-1] else f" (at {shown(name)})"
    return f"{shown(place.path)} is a symbolic link to {shown(target)}{at}; name the target itself"
