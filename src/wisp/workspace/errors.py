"""Refusals of the workspace: an expected failure with a machine code and one sentence.

Knows nothing of who asked; the tools turn a refusal into what the model reads.
"""

from __future__ import annotations

import errno
import os

_CODES = {
    errno.ENOENT: ("not_found", "does not exist"),
    errno.ENOTDIR: ("not_found", "does not exist: a part of the path is not a directory"),
    errno.EACCES: ("permission_denied", "permission denied"),
    errno.EPERM: ("permission_denied", "operation not permitted"),
    errno.EROFS: ("read_only", "is on a read-only file system"),
    errno.ENOSPC: ("disk_full", "no space left on the file system"),
    errno.EDQUOT: ("disk_full", "the disk quota is used up"),
    errno.EFBIG: ("disk_full", "the file would exceed the size allowed"),
    errno.EISDIR: ("is_directory", "is a directory"),
    errno.ELOOP: ("link_loop", "a symbolic link in the path cannot be followed"),
    errno.ENAMETOOLONG: ("invalid_path", "the path is too long"),
    errno.EXDEV: ("outside", "leads outside the granted folders"),
    errno.ENXIO: ("not_regular", "is not a regular file"),
    errno.ETXTBSY: ("busy", "is being executed"),
}


class Refused(Exception):
    """The workspace will not, or cannot, do it; nothing was changed.

    Args:
        code: `not_found`, `outside`, `is_directory`, `is_link`, `not_regular`, `permission_denied`,
            `invalid_path`, `stale_input`, `disk_full`, ...
        message: one sentence naming the thing.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def refusal(exc: OSError, path: str) -> Refused:
    """`exc`, met while working on `path`, as a refusal that names the real cause."""
    code, words = _CODES.get(exc.errno or 0, ("io_error", exc.strerror or str(exc)))
    return Refused(code, f"{shown(path)}: {words}")


def shown(path: str) -> str:
    """`path` as it may stand in a sentence: control characters escaped, undecodable bytes visible."""
    if path.isprintable():
        return path
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
