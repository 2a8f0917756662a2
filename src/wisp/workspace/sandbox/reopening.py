"""Folders of a workspace by their handles, and opening those that a command has shut to their owner.

A command may take its owner's right to look into a folder, and give it back later: what is in there meanwhile
can be neither found nor covered.  Follows no link on the way.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from wisp.workspace.root import Root

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_folder(roots: Sequence[Root], folder: str, flags: int = os.O_RDONLY) -> int | None:
    """A handle of `folder` beneath its root, through no link; None when it is not there any more.

    Args:
        folder: an absolute path.
        flags: how the folder itself is opened; those above are only passed through.
    """
    for root in roots:
        if folder == root.path or folder.startswith(root.path.rstrip("/") + "/"):
            fd = os.dup(root.fd)
            if folder == root.path:
                return fd  # also where it is shut
            parts = os.path.relpath(folder, root.path).split("/")
            for left, part in enumerate(parts, 1 - len(parts)):
                above = fd
                try:
                    fd = os.open(part, _FOLDER | (os.O_PATH if left else flags), dir_fd=above)
                except OSError:
                    return None
                finally:
                    os.close(above)
            return fd
    return None


def reopen(roots: Sequence[Root], path: str) -> str:
    """Let the owner of the folder at `path` look into it; what there is to be said of it."""
    fd = open_folder(roots, path, os.O_PATH)
    if fd is None:
        return f"{path} cannot be looked into, and cannot be changed from here on"
    try:
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        os.chmod(f"/proc/self/fd/{fd}", mode | stat.S_IRWXU)
    except OSError as exc:
        return f"{path} cannot be looked into, and cannot be changed from here on: {exc.strerror}"
    finally:
        os.close(fd)
    return f"{path} was shut to its owner and was opened for him again: what is in it could not be guarded"
