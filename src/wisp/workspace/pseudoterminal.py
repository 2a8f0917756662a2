"""A small program that gives one command a terminal of its own, and carries its bytes.

Started in the command's place and in its box (`process.py`), or called by the guardian before it confines the
command; imports nothing of wisp.  The terminal is made here, so that the command can get at no other: it is
the command's controlling terminal, is 80 by 24, ends its lines plainly, and hangs up when the command ends.
What arrives on standard input is typed; the end of standard input types the end-of-file character once.

    PROGRAM [ARGUMENT ...]

Ends with the command's exit code, 128 + N where signal N ended it, 127 where it could not be started.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import sys
import termios

TYPE_CHECKING = False  # as in `guardian.py`
if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, COLUMNS = 24, 80
_CHUNK = 1 << 16
_END_OF_FILE = b"\x04"


def main(argv: list[str], confine: Callable[[], object]) -> int:
    """Run `argv`, after it is confined, to its end on a new terminal; returns the exit code."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    modes = termios.tcgetattr(slave)
    modes[1] &= ~termios.OPOST  # lines end as they do in a pipe
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    begun, begins = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, master, slave, confine)
    os.close(slave)
    os.close(begins)
    os.read(begun, 1)  # ends when the program is there: an interrupt typed before would be nobody's
    status = _carry(master, pid)
    os.close(master)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _become(argv: list[str], master: int, slave: int, confine: Callable[[], object]) -> None:
    """In the child: the command on its terminal; never returns."""
    try:
        os.close(master)
        os.login_tty(slave)
        confine()
        os.execvp(argv[0], argv)
    except OSError as exc:
        os.write(2, f"{argv[0]}: {exc.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(127)


def _carry(master: int, pid: int) -> int:
    """Bytes both ways until the command has ended and said everything; its wait status."""
    os.set_blocking(master, False)
    typed = b""
    listening = True
    while True:
        ready_in = [master] + ([0] if listening and len(typed) < _CHUNK else [])
        readable, writable, _ = select.select(ready_in, [master] if typed else [], [], 0.05)
        if master in readable and not _show(master):
            return os.waitpid(pid, 0)[1]
        if 0 in readable:
            piece = os.read(0, _CHUNK)
            listening = bool(piece)
            typed += piece or _END_OF_FILE
        if master in writable:
            typed = typed[_write(master, typed) :]
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            while _show(master, last=True):
                pass
            return status


def _show(master: int, *, last: bool = False) -> bool:
    """Hand on what can be read; False where that is the end (`last`: or where nothing waits)."""
    try:
        piece = os.read(master, _CHUNK)
    except BlockingIOError:
        return not last
    except OSError as exc:
        if exc.errno != errno.EIO:  # how Linux says that nobody has the terminal open any more
            raise
        return False
    while piece:
        piece = piece[os.write(1, piece) :]
    return True


def _write(master: int, data: bytes) -> int:
    """How many bytes the terminal took; all where nobody is there to read them."""
    try:
        return os.write(master, data[:1024])
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], lambda: None))
