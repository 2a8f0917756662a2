"""Which folders changed since they were last asked about, as Linux tells it (inotify(7)).

Without it a tree is compared folder by folder before and after each command.  Tells only what is certain: a
folder that cannot be watched, on a file system that others may change behind the kernel's back, or beyond a
share of what the user may watch, is said to be unwatched.  Knows no names.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct

_CREATED, _DELETED, _MOVED = 0x100, 0x200, 0x40 | 0x80
_MODE, _SELF_DELETED, _SELF_MOVED = 0x4, 0x400, 0x800
_UNMOUNTED, _OVERFLOWED, _IGNORED = 0x2000, 0x4000, 0x8000
_FOLDER_ITSELF = 0x01000000 | 0x02000000
"""Only a folder, and not what a link there leads to."""
_WANTED = _CREATED | _DELETED | _MOVED | _MODE | _SELF_DELETED | _SELF_MOVED | _FOLDER_ITSELF
_LOST = _UNMOUNTED | _OVERFLOWED | _SELF_MOVED
"""After these it is not known which folder a watch is at, or what else happened."""
_EVENT = struct.Struct("iIII")
_MOST_READ = 65536
"""Bytes of events that are worth taking apart; after more, looking at every folder is quicker."""
_TOLD = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "overlay", "ramfs", "bcachefs"}
"""File systems that are changed through this kernel only."""
_SHARE = 4
"""The part of the user's watches that we leave to editors and builds is all but one in this many."""


class Changes:
    """Watches folders of the file system that `top` is on; close it at the end."""

    def __init__(self, top: str) -> None:
        self.top = top
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._device = self._most = self._events = self._mounts = -1
        self._places: dict[int, str] = {}
        self._watches: dict[str, int] = {}
        self._poll = select.poll()
        try:
            device = os.lstat(top).st_dev
            with open("/proc/sys/fs/inotify/max_user_watches", "rb") as file:
                most = int(file.read()) // _SHARE
            self._mounts = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
            if _kind(self._mounts, device) in _TOLD:
                self._device, self._most = device, most
                self._poll.register(self._mounts, select.POLLPRI)
        except (OSError, ValueError, AttributeError):
            pass  # no Linux, or a very small /proc: nothing is watched
        self._begin()

    @property
    def device(self) -> int:
        """The number of the file system whose changes are told; -1 for none."""
        return self._device

    def watch(self, path: str) -> bool:
        """Have changes of the folder told from now on; whether they will be, if it is on `device`.

        Read it after that.
        """
        if self._device < 0:
            return False
        if path in self._watches:
            return True
        if len(self._watches) >= self._most:
            return False
        found: int = self._libc.inotify_add_watch(self._events, os.fsencode(path), _WANTED)
        if found < 0:
            return False
        self._watches.pop(self._places.get(found, ""), None)  # it was at another place before
        self._places[found], self._watches[path] = path, found
        return True

    def told(self) -> set[str] | None:
        """The watched folders in which a name came, went or was replaced since the last call.

        None where that is not known: then none is watched any more, and all of them have to be looked at.
        """
        ready = self._poll.poll(0)
        if not ready:
            return set()
        changed: set[str] = set()
        if ready == [(self._events, select.POLLIN)]:
            data = self._read()
            at, lost = 0, len(data) >= _MOST_READ
            while at < len(data) and not lost:
                watch, mask, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                lost = bool(mask & _LOST)
                place = self._places.get(watch)
                if place is not None:
                    changed.add(place)
                    if mask & _IGNORED:
                        del self._places[watch], self._watches[place]
            if not lost:
                return changed
        self._begin()
        return None

    def close(self) -> None:
        """Watch nothing any more."""
        self._device = -1
        self._end()
        if self._mounts >= 0:
            os.close(self._mounts)
            self._mounts = -1

    def _begin(self) -> None:
        self._end()
        if self._device < 0:
            return
        self._events = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._events < 0:
            self._device = -1  # the user has no more of them
            return
        self._poll.register(self._events, select.POLLIN)

    def _end(self) -> None:
        self._places.clear()
        self._watches.clear()
        if self._events >= 0:
            self._poll.unregister(self._events)
            os.close(self._events)
            self._events = -1

    def _read(self) -> bytes:
        data = b""
        while len(data) < _MOST_READ:
            try:
                data += os.read(self._events, _MOST_READ)
            except BlockingIOError:
                break
        return data


def _kind(mounts: int, device: int) -> str:
    """The kind of file system with this number; empty where it is not a mounted one."""
    wanted = f"{os.major(device)}:{os.minor(device)}".encode()
    text = b""
    while piece := os.read(mounts, 65536):
        text += piece
    for line in text.split(b"\n"):
        words = line.split(b" ")
        if len(words) > 9 and words[2] == wanted:
            return os.fsdecode(words[words.index(b"-") + 1])
    return ""
