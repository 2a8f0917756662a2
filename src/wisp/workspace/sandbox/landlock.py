"""The floor where bubblewrap cannot start: kernel rules about files, TCP and signals, plus the filter.

It keeps writes inside the workspace and hides what credentials say.  It cannot make a name inside the
workspace read-only, does not know `chmod` outside it, and gives no process namespace: it is a second layer
under what a person allowed, never a reason not to ask.  Imports nothing of wisp: the guardian loads it
inside the child that becomes the command.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Sequence

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVS, _SET_SECCOMP, _FILTER = 38, 22, 2
_EXECUTE, _WRITE, _READ, _READ_DIR = 1, 2, 4, 8
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_BITS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many file rights a version knows; 16 from the fifth on."""
_CONNECT_AND_BIND = 3
_ABSTRACT_SOCKETS_AND_SIGNALS = 3
_CAPABILITIES = 0x20080522
"""Version of the structure by which all capabilities are given up."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")
_MOST = 2000


def version() -> int:
    """The kernel's version of this; 0 where there is none."""
    found: int = ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, 1)
    return max(0, found)


def packed(write: Sequence[str], read: Sequence[str], network: bool, program: bytes) -> bytes:
    """What `apply` takes, as bytes for a descriptor."""
    rows = [b"n" if network else b"c"]
    rows += [kind + os.fsencode(path) for kind, paths in ((b"w", write), (b"r", read)) for path in paths]
    return b"\0".join(rows) + b"\0\0" + program


def apply(data: bytes) -> None:
    """Confine this process and its children for ever.

    Raises:
        OSError: the kernel refused; nothing may run then.
    """
    head, _, program = data.partition(b"\0\0")
    flag, *rows = head.split(b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    abi = version()
    if not abi:
        raise OSError(95, "no Landlock")
    every = (1 << _BITS_BY_ABI.get(abi, 16)) - 1
    tcp = _CONNECT_AND_BIND if abi >= 4 and flag == b"c" else 0
    scope = _ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = _checked(libc.syscall(_CREATE, struct.pack("QQQ", every, tcp, scope), size, 0))
    _allow(libc, rules, b"/", _READ_DIR)
    for row in rows:
        rights = every if row[:1] == b"w" else _READ | _READ_DIR | _EXECUTE
        _allow(libc, rules, row[1:], rights)
    for name in _DEVICES:
        _allow(libc, rules, b"/dev/" + name.encode(), (_READ | _WRITE | _TRUNCATE | _IOCTL) & every)
    _checked(libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(libc.capset(struct.pack("=Ii", _CAPABILITIES, 0), bytes(24)))
    _checked(libc.syscall(_RESTRICT, rules, 0))
    os.close(rules)
    _filter(libc, program)


def readable(hidden: Iterable[str]) -> list[str]:
    """The fewest places that together are everything but `hidden`."""
    hidden_now = {path.rstrip("/") for path in hidden}
    above = {"/"}
    for path in hidden_now:
        parent = os.path.dirname(path)
        while parent not in above:
            above.add(parent)
            parent = os.path.dirname(parent)
    found: list[str] = []
    for folder in above:
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names[:_MOST]:
            place = os.path.join(folder, name)
            if place not in hidden_now and place not in above and not os.path.islink(place):
                found.append(place)
    return found


def _allow(libc: ctypes.CDLL, rules: int, path: bytes, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # not there: nothing to allow
    try:
        if not os.path.isdir(path):
            rights &= _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
        _checked(libc.syscall(_ADD, rules, 1, struct.pack("=Qi", rights, fd), 0))
    finally:
        os.close(fd)


def _filter(libc: ctypes.CDLL, program: bytes) -> None:
    steps = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(steps))
    _checked(libc.prctl(_SET_SECCOMP, _FILTER, head, 0, 0))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
