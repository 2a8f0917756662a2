"""Files that a person names for a run: read whole and with an end, written only where a file can be.

Knows nothing of what is in them.  Nobody waits for ever for the other side of a pipe that has none.
"""

from __future__ import annotations

import errno
import os
import select
import stat

MOST_BYTES = 1 << 20
"""Of a file that is read whole, unless said otherwise."""
PATIENCE = 10.0
"""Seconds that a pipe may say nothing."""
_CHUNK = 1 << 16
_FLAGS = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def whole_file(path: str, most: int = MOST_BYTES, *, patience: float = PATIENCE) -> bytes:
    """What is in a file, or comes through a pipe as a shell's `<(command)` makes one.

    Args:
        most: longest content, in bytes.
        patience: seconds that a pipe may say nothing.

    Raises:
        OSError: it cannot be read, is longer than `most`, as a device without an end is, or nothing comes.
    """
    descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        heard = select.poll()
        heard.register(descriptor, select.POLLIN)
        data = bytearray()
        while len(data) <= most:
            if not heard.poll(patience * 1000):
                raise OSError(errno.ETIMEDOUT, f"nothing came through this pipe for {patience:g} s", path)
            piece = os.read(descriptor, _CHUNK)
            if not piece:
                return bytes(data)
            data += piece
    finally:
        os.close(descriptor)
    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)


def fresh_file(path: str) -> None:
    """Make an empty file of `path`, or empty the one that is there.

    Raises:
        OSError: it cannot be written, or is a pipe or a socket, where a reader may never come.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o666)
        pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        os.close(descriptor)
    except OSError as exc:
        if exc.errno != errno.ENXIO:  # what a pipe without a reader, or a socket, says
            raise
        pipe = True
    if pipe:
        raise OSError(errno.EINVAL, "a pipe or a socket, not a file", path)
