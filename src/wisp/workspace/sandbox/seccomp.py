"""The system-call filter of the box, as bytes for the kernel.

What a build, a test or a shell needs stays open; what serves to leave a box or to look into others is
refused as if the kernel did not have it.  Knows system-call numbers; imports nothing of wisp, so that a
helper program can load it by itself.
"""

from __future__ import annotations

import errno
import struct

_ARCHES = {
    "x86_64": 0xC000003E,
    "aarch64": 0xC00000B7,
}
_REFUSED: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "setns": (308, 268),
    "userfaultfd": (323, 282),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "open_by_handle_at": (304, 265),
    "syslog": (103, 116),
}
"""Name to number on x86_64 and aarch64."""
_ONLY_X86 = {"iopl": 172, "ioperm": 173, "_sysctl": 156, "uselib": 134}
_UNSHARE, _CLONE, _CLONE3 = (272, 97), (56, 220), 435
_IOCTL, _SOCKET = (16, 29), (41, 198)

_NEW_SPACES = 0x7E020000
"""CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET."""
_NEW_TIME = 0x80
_SETUID = 0o4000
_MODES = {
    "chmod": ((90, 0), 1),
    "fchmod": ((91, 52), 1),
    "fchmodat": ((268, 53), 2),
    "fchmodat2": ((452, 452), 2),
    "creat": ((85, 0), 1),
    "mknod": ((133, 0), 1),
    "mknodat": ((259, 33), 2),
}
"""Calls that take a file's mode, and in which argument: none may make a program that runs as its owner."""
_OPENS = {"open": ((2, 0), 1), "openat": ((257, 56), 2)}
"""Calls that take flags in this argument and, with O_CREAT, a mode in the next."""
_CREATE = 0o100
_OPENAT2 = 437
"""Takes its mode by pointer, which a filter cannot see; programs fall back to `openat`."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into a terminal on somebody's behalf."""
_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4, IPv6 and netlink; the network namespace says how far they reach."""
_UNIX = 1
_FAMILIES_NO_NETWORK = (16,)
"""Where no namespace keeps sockets in: neither internet nor Unix sockets can be made."""

_LOAD, _EQUAL, _ANY, _RETURN, _MORE = 0x20, 0x15, 0x45, 0x06, 0x35
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NR, _ARCH = 0, 4
_X32 = 0x40000000


def supported(machine: str) -> bool:
    """Whether there is a filter for `machine`, a name as `uname` says it."""
    return machine in _ARCHES


def build(machine: str, *, sockets: bool = True) -> bytes:
    """The filter for `machine`.

    Args:
        sockets: internet and Unix sockets may be made; a network namespace limits them.
    """
    column = 0 if machine == "x86_64" else 1
    program = [
        _op(_LOAD, _ARCH),
        _op(_EQUAL, _ARCHES[machine], 1, 0),
        _refuse(errno.ENOSYS),
        _op(_LOAD, _NR),
    ]
    if machine == "x86_64":
        program += [_op(_MORE, _X32, 0, 1), _refuse(errno.ENOSYS)]
        for number in _ONLY_X86.values():
            program += [_op(_EQUAL, number, 0, 1), _refuse(errno.EPERM)]
    for numbers in _REFUSED.values():
        program += [_op(_EQUAL, numbers[column], 0, 1), _refuse(errno.EPERM)]
    program += [_op(_EQUAL, _CLONE3, 0, 1), _refuse(errno.ENOSYS)]
    program += _if_bits(_UNSHARE[column], 0, _NEW_SPACES | _NEW_TIME, errno.EPERM)
    program += _if_bits(_CLONE[column], 0, _NEW_SPACES, errno.EPERM)
    program += _if_one_of(_IOCTL[column], 1, _TERMINAL_INPUT, errno.EPERM)
    program += [_op(_EQUAL, _OPENAT2, 0, 1), _refuse(errno.ENOSYS)]
    for numbers, place in _MODES.values():
        if numbers[column]:
            program += _if_bits(numbers[column], place, _SETUID, errno.EPERM)
    for numbers, place in _OPENS.values():
        if numbers[column]:
            program += _if_creates(numbers[column], place)
    families = _FAMILIES if sockets else _FAMILIES_NO_NETWORK
    program += _unless_one_of(_SOCKET[column], 0, families, errno.EAFNOSUPPORT if sockets else errno.EACCES)
    program.append(_op(_RETURN, _ALLOW))
    return b"".join(program)


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse(code: int) -> bytes:
    return _op(_RETURN, _ERRNO | code)


def _argument(place: int) -> bytes:
    """Load the low half of an argument; both machines are little-endian."""
    return _op(_LOAD, 16 + 8 * place)


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """`body` for one system call; it may load, so the number is loaded again after it."""
    return [_op(_EQUAL, number, 0, len(body) + 1), *body, _op(_LOAD, _NR)]


def _if_bits(number: int, place: int, bits: int, code: int) -> list[bytes]:
    return _when(number, [_argument(place), _op(_ANY, bits, 0, 1), _refuse(code)])


def _if_creates(number: int, place: int) -> list[bytes]:
    body = [
        _argument(place), _op(_ANY, _CREATE, 0, 3),
        _argument(place + 1), _op(_ANY, _SETUID, 0, 1), _refuse(errno.EPERM),
    ]  # fmt: skip
    return _when(number, body)


def _if_one_of(number: int, place: int, values: tuple[int, ...], code: int) -> list[bytes]:
    body = [_argument(place)]
    for value in values:
        body += [_op(_EQUAL, value, 0, 1), _refuse(code)]
    return _when(number, body)


def _unless_one_of(number: int, place: int, values: tuple[int, ...], code: int) -> list[bytes]:
    body = [_argument(place)]
    for left, value in zip(range(len(values), 0, -1), values, strict=True):
        body.append(_op(_EQUAL, value, left, 0))
    body.append(_refuse(code))
    return _when(number, body)
