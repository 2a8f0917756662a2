"""A private store of file contents by digest, and of trees that name them; capped and pruned.

Written so that a kill at any moment leaves whole objects only: each is written aside and renamed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

_CHUNK = 1 << 20
CAP = 2 << 30
"""Bytes kept in one store before old snapshots are let go."""
_YOUNG = 3600
"""Seconds that an object is kept whatever names it."""


class StoreFull(OSError):
    """One snapshot alone would be larger than the store may be, or the disk is full."""


def digest_of(folder: int, name: bytes) -> str:
    """The digest that `ObjectStore.put_file` would give; keeps nothing.

    Raises:
        OSError: it cannot be read.
    """
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        digest = hashlib.sha256()
        while piece := os.read(source, _CHUNK):
            digest.update(piece)
        return digest.hexdigest()
    finally:
        os.close(source)


class ObjectStore:
    """One folder of objects.

    Args:
        path: made on first use, for this user alone.
        cap: bytes kept at most; older trees, and what only they name, go first.
    """

    def __init__(self, path: str, cap: int = CAP) -> None:
        self._path = path
        self.cap = cap
        self._made = False
        self.written = 0
        """Bytes put since the last `prune`."""

    def put_file(self, folder: int, name: bytes) -> str:
        """Keep the file `name` in the directory `folder`; returns its digest.

        Raises:
            StoreFull: no room.
            OSError: it cannot be read.
        """
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        try:
            self._make()
            aside = os.path.join(self._path, f"new-{os.getpid()}")
            digest = hashlib.sha256()
            try:
                target = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
                try:
                    while piece := os.read(source, _CHUNK):
                        digest.update(piece)
                        _write(target, piece)
                        self.written += len(piece)
                finally:
                    os.close(target)
                found = digest.hexdigest()
                os.replace(aside, self._object(found))
            except OSError as exc:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
                raise StoreFull(exc.errno or 0, f"a snapshot could not be kept: {exc.strerror}") from exc
            return found
        finally:
            os.close(source)

    def require(self, digest: str) -> None:
        """Raise KeyError unless the content is here."""
        if digest and not os.path.exists(self._object(digest)):
            raise KeyError(digest)

    def write_out(self, digest: str, target: int) -> None:
        """Write a content to the open file `target`.

        Raises:
            KeyError: it is not here.
            OSError: it cannot be written.
        """
        try:
            source = os.open(self._object(digest), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise KeyError(digest) from None
        try:
            while piece := os.read(source, _CHUNK):
                _write(target, piece)
        finally:
            os.close(source)

    def put_tree(self, tree: Mapping[str, Any]) -> str:
        """Keep a tree; the same tree is kept once.  Returns its id.

        Raises:
            StoreFull: no room.
        """
        data = json.dumps(tree, separators=(",", ":"), sort_keys=True).encode()
        found = hashlib.sha256(data).hexdigest()[:32]
        self._make()
        path = self._tree(found)
        if not os.path.exists(path):
            aside = f"{path}.{os.getpid()}"
            try:
                with open(aside, "wb") as file:
                    file.write(zlib.compress(data, 1))
                os.replace(aside, path)
            except OSError as exc:
                with contextlib.suppress(OSError):
                    os.unlink(aside)
                raise StoreFull(exc.errno or 0, f"a snapshot could not be kept: {exc.strerror}") from exc
        else:
            os.utime(path)
        return found

    def get_tree(self, tree: str) -> dict[str, Any]:
        """A tree by its id.

        Raises:
            KeyError: it is not here, or damaged.
        """
        try:
            with open(self._tree(tree), "rb") as file:
                data = zlib.decompress(file.read())
        except (OSError, zlib.error):
            raise KeyError(tree) from None
        if hashlib.sha256(data).hexdigest()[:32] != tree:
            raise KeyError(tree)
        found: dict[str, Any] = json.loads(data)
        return found

    def prune(self) -> int:
        """Let old trees go until the store is within its cap; returns the bytes freed.  The newest stays, and
        what was written in the last hour: a snapshot that is being taken has no tree yet."""
        self.written = 0
        sizes = {name: (size, age) for name, size, age in self._found("objects")}
        if sum(size for size, _ in sizes.values()) <= self.cap:
            return 0
        kept: set[str] = set()
        total, dropping = 0, False
        for number, (_, name) in enumerate(sorted(self._ages("trees"), reverse=True)):
            if not dropping:
                new = {row[2] for row in self._rows(name) if row[0] == "file"} - kept
                total += sum(sizes[digest][0] for digest in new if digest in sizes)
                dropping = total > self.cap and number > 0
                kept |= new if not dropping else set()
            if dropping:
                os.unlink(os.path.join(self._path, "trees", name))
        freed, young = 0, self._now() - _YOUNG
        for name, (size, age) in sizes.items():
            if name not in kept and age < young:
                freed += size
                with contextlib.suppress(OSError):
                    os.unlink(os.path.join(self._path, "objects", name))
        return freed

    def _now(self) -> float:
        """The store's own clock: the time its file system gives a file that is written now."""
        aside = os.path.join(self._path, f"now-{os.getpid()}")
        with open(aside, "wb"):
            pass
        try:
            return os.stat(aside).st_mtime
        finally:
            os.unlink(aside)

    def _rows(self, tree: str) -> list[Any]:
        try:
            return list(self.get_tree(tree).values())
        except KeyError:
            return []

    def _found(self, kind: str) -> list[tuple[str, int, float]]:
        try:
            with os.scandir(os.path.join(self._path, kind)) as found:
                return [(e.name, (status := e.stat()).st_size, status.st_mtime) for e in found]
        except OSError:
            return []

    def _ages(self, kind: str) -> list[tuple[float, str]]:
        try:
            with os.scandir(os.path.join(self._path, kind)) as found:
                return [(e.stat().st_mtime, e.name) for e in found]
        except OSError:
            return []

    def _object(self, digest: str) -> str:
        return os.path.join(self._path, "objects", _name(digest))

    def _tree(self, tree: str) -> str:
        return os.path.join(self._path, "trees", _name(tree))

    def _make(self) -> None:
        if not self._made:
            for kind in ("objects", "trees"):
                os.makedirs(os.path.join(self._path, kind), mode=0o700, exist_ok=True)
            self._made = True


def _write(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


def _name(digest: str) -> str:
    """What is a digest, and so leads nowhere else; a session file may say anything.  Raises `KeyError`."""
    if not digest.isalnum():
        raise KeyError(digest)
    return digest
