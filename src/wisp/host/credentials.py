"""The file of stored credentials: private, replaced whole, changed by one process at a time.

Reading needs no lock: the file is only ever replaced by another whole one.  Changing it waits for its
turn.  The lock is the kernel's, on a file beside this one, so that a holder that died holds nothing.
Knows neither providers nor how a credential is come by.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec

from wisp.session.whole import replace_private

MOST_BYTES = 1 << 20
PATIENCE = 15.0
"""Seconds to wait for another process that changes the file."""
_FIRST_WAIT, _LONGEST_WAIT = 0.005, 0.25
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class BadCredentialFile(OSError):
    """The file cannot be used as it is; the message says what is wrong and what to do."""


class Stored(msgspec.Struct, frozen=True, omit_defaults=True):
    """One credential; shows itself to nobody."""

    kind: Literal["key", "oauth", "keyring"] = "key"
    """`keyring`: the secret is in the system's keyring and not here."""
    secret: str = ""
    """The key, or the access token."""
    refresh: str = ""
    expires_at: float | None = None
    """Seconds since 1970 after which an access token is of no use; None where nobody said."""
    scope: str = ""

    def __repr__(self) -> str:
        return f"Stored(kind={self.kind!r}, secret={'set' if self.secret else 'empty'})"


class _Content(msgspec.Struct, frozen=True):
    v: int
    providers: dict[str, Stored] = {}


class CredentialFile:
    """Credentials by the provider's name.

    Args:
        path: the file; its folder is made when something is stored.
        sleep: waits for other processes.
    """

    def __init__(self, path: str, sleep: Callable[[float], object] = time.sleep) -> None:
        self.path = path
        self._sleep = sleep

    def read(self) -> dict[str, Stored]:
        """Everything that is stored; empty where there is no file.

        Raises:
            BadCredentialFile: it is a link, another user's, open to others, or damaged.
            OSError: it cannot be read.
        """
        try:
            descriptor = os.open(self.path, _READ)
        except FileNotFoundError:
            return {}
        except OSError as exc:
            if exc.errno == errno.ELOOP:
                raise _bad(self.path, "it is a link; put the file itself there") from None
            raise
        with os.fdopen(descriptor, "rb") as file:
            _check_private(self.path, descriptor)
            data = file.read(MOST_BYTES + 1)
        try:
            found = msgspec.json.decode(data, type=_Content)
        except msgspec.MsgspecError:
            # without the decoder's words, which may repeat what stands in the file
            raise _bad(self.path, "it is damaged; move it away and log in again") from None
        if found.v != 1:
            raise _bad(self.path, f"version {found.v} was written by a later wisp")
        return found.providers

    def get(self, provider: str) -> Stored | None:
        """The credential of one provider."""
        return self.read().get(provider)

    def put(self, provider: str, stored: Stored) -> None:
        """Store one credential and leave the others as they are.

        Raises:
            OSError: the file cannot be changed; nothing is lost.
        """
        with self.locked():
            self.write({**self.read(), provider: stored})

    def remove(self, provider: str) -> bool:
        """Forget one credential; whether there was one."""
        if not os.path.lexists(self.path):
            return False
        with self.locked():
            found = self.read()
            gone = found.pop(provider, None)
            if gone is not None:
                self.write(found)
        return gone is not None

    def try_lock(self) -> int | None:
        """The lock as a descriptor to be closed, or None while another process has it.

        Raises:
            OSError: the lock file is not a private regular file of ours.
        """
        from wisp.session.whole import create_private_folder

        create_private_folder(os.path.dirname(self.path))
        path = self.path + ".lock"
        descriptor = os.open(path, _LOCK, 0o600)
        try:
            _check_private(path, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours, theirs = os.fstat(descriptor), os.stat(path, follow_symlinks=False)
            if (ours.st_dev, ours.st_ino) == (theirs.st_dev, theirs.st_ino):
                return descriptor
        except (BlockingIOError, FileNotFoundError):
            pass  # taken, or somebody removed the lock file meanwhile: the next attempt makes a new one
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait for the lock and hold it.

        Raises:
            OSError: another process did not let go within `PATIENCE` seconds.
        """
        descriptor = self.try_lock()
        for pause in waits():
            if descriptor is not None:
                break
            self._sleep(pause)
            descriptor = self.try_lock()
        if descriptor is None:
            raise busy(self.path)
        try:
            yield
        finally:
            os.close(descriptor)

    def write(self, providers: dict[str, Stored]) -> None:
        """Replace the content; only with the lock held."""
        whole = _Content(1, dict(sorted(providers.items())))
        replace_private(self.path, msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n")


def waits() -> Iterator[float]:
    """Seconds to wait between attempts, longer each time, `PATIENCE` in all."""
    total, pause = 0.0, _FIRST_WAIT
    while total < PATIENCE:
        # out of step with the others that wait, without a source of chance: each process has its number
        step = pause * (0.75 + os.getpid() % 17 / 34)
        yield step
        total += step
        pause = min(pause * 1.6, _LONGEST_WAIT)


def busy(path: str) -> OSError:
    """What to say when the lock could not be had."""
    return OSError(errno.EBUSY, f"another wisp has been changing it for {PATIENCE:g} s; try again", path)


def _check_private(path: str, descriptor: int) -> None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise _bad(path, "it is not a regular file")
    if found.st_uid != os.geteuid():
        raise _bad(path, "it belongs to another user")
    if found.st_nlink > 1:
        raise _bad(path, "it has a second name (a hard link)")
    if found.st_mode & 0o077:
        raise _bad(path, f"others may open it (mode {found.st_mode & 0o777:04o}); run: chmod 600 {path}")


def _bad(path: str, what: str) -> BadCredentialFile:
    return BadCredentialFile(errno.EPERM, what, path)
